"""Invented clinical cases: several notes of one stay, and a faithful summary of them. No patient exists.

Every story is put together from parts written for this purpose, with names of drugs, findings, numbers and dates drawn
by seed, so that thousands of them share little but their kind.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


@dataclass(frozen=True)
class Story:
    """A case: its notes, and a summary with nothing wrong in it."""

    notes: tuple[str, ...]
    summary: str


@dataclass(frozen=True)
class Condition:
    """What a story of one illness may contain. `A|B` are two wordings, the notes' and the summary's."""

    name: str
    place: str
    ages: tuple[int, int]
    past: tuple[str, ...]
    symptoms: tuple[str, ...]
    labs: tuple[tuple[str, float, float, int, str], ...]
    finding: tuple[str, ...]
    first: tuple[tuple[str, tuple[str, ...], str], ...]
    later: tuple[tuple[str, tuple[str, ...], str], ...]
    course: tuple[str, ...]
    snag: tuple[str, ...]
    plan: tuple[str, ...]


SIDE = ("left", "right")
CONDITIONS = (
    Condition("pneumonia", "Emergency department", (24, 88),
        ("asthma", "type 2 diabetes", "hypertension", "no illnesses of note", "bronchiectasis"),
        ("{n} days of fever and productive cough|fever and cough for {n} days", "sharp {side}-sided chest pain on breathing in|{side}-sided pleuritic pain"),
        (("C-reactive protein", 60, 310, 0, "mg/L"), ("white cells", 11, 24, 1, ""), ("saturation", 86, 93, 0, "% on air"), ("temperature", 37.9, 39.8, 1, "C")),
        ("Chest film: {side} lower lobe consolidation, no effusion|{side} lower lobe consolidation on the chest film",
         "Chest film shows patchy shadowing at the {side} base|patchy shadowing at the {side} base"),
        (("co-amoxiclav", ("1.2 g", "625 mg"), "three times daily"), ("ceftriaxone", ("1 g", "2 g"), "once daily"), ("benzylpenicillin", ("1.2 g", "2.4 g"), "four times daily")),
        (("amoxicillin", ("500 mg", "1 g"), "three times daily"), ("doxycycline", ("100 mg", "200 mg"), "once daily"), ("clarithromycin", ("250 mg", "500 mg"), "twice daily")),
        ("Fever settled and oxygen was stopped on {d2}|oxygen was stopped on {d2}", "Walking to the bathroom without oxygen|walks without oxygen"),
        ("A rash appeared after the first dose, so the antibiotic was changed|the antibiotic was changed because of a rash", "Vomited twice overnight; fluids by drip for a day|fluids were given by drip for a day after vomiting"),
        ("Repeat chest film in {n} weeks|chest film to be repeated in {n} weeks", "Offered the flu vaccine at the practice|flu vaccine at the practice", "Asked to return if the fever comes back|to return if fever recurs")),
    Condition("acute kidney injury", "Medical assessment unit", (45, 90),
        ("heart failure", "type 2 diabetes", "hypertension", "gout", "osteoarthritis of the knees"),
        ("{n} days of diarrhoea and poor intake|diarrhoea and poor intake for {n} days", "light-headed on standing|dizziness on standing"),
        (("creatinine", 180, 520, 0, "umol/L"), ("potassium", 5.2, 6.8, 1, "mmol/L"), ("urea", 14, 38, 1, "mmol/L"), ("bicarbonate", 14, 20, 0, "mmol/L")),
        ("Ultrasound: kidneys of normal size, no obstruction|ultrasound showed no obstruction", "Bladder scan {bladder} mL; a catheter was passed|a catheter was passed for {bladder} mL"),
        (("sodium chloride 0.9%", ("1 L", "2 L"), "over eight hours"), ("sodium bicarbonate", ("500 mg", "1 g"), "three times daily")),
        (("amlodipine", ("5 mg", "10 mg"), "once daily"), ("bisoprolol", ("1.25 mg", "2.5 mg"), "once daily")),
        ("Creatinine down to {low} umol/L on {d2}|creatinine had fallen to {low} umol/L by {d2}", "Passing good volumes of urine|urine output was good"),
        ("Ramipril and ibuprofen were stopped|ramipril and ibuprofen were stopped", "Metformin withheld until kidney function recovers|metformin is withheld"),
        ("Kidney function to be checked at the practice in {n} days|kidney function check in {n} days", "No anti-inflammatory tablets from now on|to avoid anti-inflammatory tablets", "Kidney clinic in {n} weeks if not back to baseline|kidney clinic in {n} weeks if not recovered")),
    Condition("hip fracture", "Orthopaedics", (66, 95),
        ("osteoporosis", "Parkinson's disease", "mild memory loss", "atrial fibrillation", "macular degeneration"),
        ("fell on the stairs at home on {d0}|a fall on the stairs on {d0}", "could not put weight on the {side} leg|unable to stand on the {side} leg"),
        (("haemoglobin", 92, 138, 0, "g|L"), ("sodium", 128, 141, 0, "mmol/L"), ("vitamin D", 14, 38, 0, "nmol|L")),
        ("Film: displaced fracture of the {side} femoral neck|displaced {side} femoral neck fracture", "Film: {side} intertrochanteric fracture|{side} intertrochanteric fracture"),
        (("paracetamol", ("500 mg", "1 g"), "four times daily"), ("fascia iliaca block", ("20 mL", "30 mL"), "once")),
        (("dalteparin", ("2500 units", "5000 units"), "once daily for 28 days"), ("alendronic acid", ("70 mg",), "once a week"), ("colecalciferol", ("800 units", "1600 units"), "once daily")),
        ("Dynamic hip screw under spinal anaesthesia on {d1}|dynamic hip screw on {d1}", "Hemiarthroplasty on {d1} without difficulty|hemiarthroplasty on {d1}"),
        ("Confused on the first night; settled by {d2}|confusion on the first night had settled by {d2}", "One unit of blood was given for haemoglobin {hb} g/L|one unit of blood for haemoglobin {hb} g/L"),
        ("Walks {m} m with a frame and one person|walking {m} m with a frame and one person", "Moves to the rehabilitation ward on {d3}|rehabilitation ward from {d3}", "Fracture clinic in {n} weeks|fracture clinic in {n} weeks")),
    Condition("heart attack", "Cardiology", (38, 84),
        ("smoking, 20 a day", "high cholesterol", "hypertension", "type 1 diabetes", "peripheral arterial disease"),
        ("{n} hours of crushing chest pain|chest pain for {n} hours", "sweating and nausea|sweating and nausea"),
        (("troponin", 90, 4800, 0, "ng/L"), ("cholesterol", 4.1, 7.9, 1, "mmol/L"), ("glucose", 5.1, 13.8, 1, "mmol/L")),
        ("Electrocardiogram: ST elevation in the inferior leads|inferior ST elevation", "Electrocardiogram: ST depression in V3 to V6|ST depression in V3 to V6"),
        (("aspirin", ("300 mg",), "once"), ("ticagrelor", ("180 mg",), "once"), ("fondaparinux", ("2.5 mg",), "once daily")),
        (("atorvastatin", ("40 mg", "80 mg"), "at night"), ("bisoprolol", ("1.25 mg", "2.5 mg", "5 mg"), "once daily"), ("ramipril", ("1.25 mg", "2.5 mg"), "twice daily")),
        ("Angiogram on {d1} through the {side} wrist: one stent to the right coronary artery|one stent to the right coronary artery on {d1}", "Angiogram on {d1}: two stents to the circumflex artery|two stents to the circumflex artery on {d1}"),
        ("Short run of ventricular tachycardia on {d1}, none since|one short run of ventricular tachycardia", "Bruising of the {side} wrist, pulse good|bruising of the {side} wrist"),
        ("Echocardiogram: ejection fraction {ef}%|ejection fraction {ef}%", "Cardiac rehabilitation in {n} weeks|cardiac rehabilitation in {n} weeks", "No driving for {n} weeks|no driving for {n} weeks")),
    Condition("stroke", "Stroke unit", (49, 91),
        ("atrial fibrillation without anticoagulation", "hypertension", "migraine", "a previous transient ischaemic attack"),
        ("sudden weakness of the {side} arm and slurred speech|sudden {side} arm weakness and slurred speech", "found on the floor at {h} in the morning|found on the floor at {h} in the morning"),
        (("blood pressure", 142, 205, 0, "systolic"), ("stroke score", 4, 19, 0, "points"), ("glucose", 5.2, 12.4, 1, "mmol/L")),
        ("CT of the head: no bleed|no bleed on CT of the head", "MRI: infarct in the territory of the middle cerebral artery|middle cerebral artery infarct on MRI"),
        (("alteplase", ("54 mg", "63 mg", "72 mg"), "over one hour"), ("aspirin", ("300 mg",), "once daily for two weeks")),
        (("apixaban", ("2.5 mg", "5 mg"), "twice daily"), ("clopidogrel", ("75 mg",), "once daily"), ("perindopril", ("2 mg", "4 mg"), "once daily")),
        ("Arm power 4 out of 5 by {d2}|arm power had improved to 4 out of 5 by {d2}", "Walks with one person and a stick|walks with one person and a stick"),
        ("Unsafe swallow at first; puree diet from {d1}|puree diet from {d1} for an unsafe swallow", "Chest infection treated with co-amoxiclav|a chest infection was treated with co-amoxiclav"),
        ("Early supported discharge team visits from {d3}|early supported discharge from {d3}", "Carotid ultrasound in {n} days|carotid ultrasound in {n} days", "Told not to drive for one month|no driving for one month")),
    Condition("asthma attack", "Respiratory ward", (17, 62),
        ("hay fever", "eczema", "two admissions with asthma last year", "anxiety"),
        ("{n} hours of wheeze after cleaning a loft|wheeze for {n} hours after cleaning a loft", "unable to finish a sentence|could not finish a sentence"),
        (("peak flow", 120, 280, 0, "L/min"), ("saturation", 88, 95, 0, "% on air"), ("respiratory rate", 24, 36, 0, "")),
        ("Chest film clear|chest film was clear", "No pneumothorax on the film|no pneumothorax"),
        (("salbutamol", ("2.5 mg", "5 mg"), "by nebuliser"), ("magnesium sulphate", ("2 g",), "once by vein"), ("hydrocortisone", ("100 mg", "200 mg"), "by vein")),
        (("prednisolone", ("30 mg", "40 mg", "50 mg"), "once daily for five days"), ("beclometasone with formoterol", ("100 micrograms", "200 micrograms"), "two puffs twice daily")),
        ("Peak flow {pf} L/min on {d2}|peak flow reached {pf} L/min on {d2}", "Slept through, no nebuliser since {d1}|no nebuliser needed since {d1}"),
        ("Tremor and a fast pulse with the nebulisers|tremor with nebulisers", "Had stopped the preventer inhaler because of hoarseness|had stopped the preventer because of hoarseness"),
        ("Written plan given; inhaler technique checked|written plan given", "Asthma nurse in {n} days|asthma nurse in {n} days", "Practice review in two days|practice review in two days")),
    Condition("diabetic ketoacidosis", "Acute medicine", (18, 58),
        ("type 1 diabetes for {n} years", "coeliac disease", "underactive thyroid", "retinopathy"),
        ("vomiting since {d0}|vomiting since {d0}", "ran out of insulin {n} days ago after moving house|insulin had run out {n} days before"),
        (("ketones", 3.4, 7.2, 1, "mmol/L"), ("glucose", 19, 41, 1, "mmol/L"), ("pH", 6.98, 7.24, 2, ""), ("bicarbonate", 6, 14, 0, "mmol/L")),
        ("Urine: ketones 4+, no infection|no urine infection", "Electrocardiogram normal|electrocardiogram was normal"),
        (("insulin by infusion", ("6 units", "7 units", "8 units"), "per hour"), ("potassium chloride", ("20 mmol", "40 mmol"), "per litre")),
        (("insulin glargine", ("14 units", "18 units", "22 units", "26 units"), "at night"), ("insulin aspart", ("4 units", "6 units", "8 units"), "with meals")),
        ("Ketones 0.4 mmol/L on {d1}, eating/ketones had cleared by {d1}", "Infusion stopped on {d2}|the infusion was stopped on {d2}"),
        ("Potassium fell to {k} mmol/L and was replaced|potassium fell to {k} mmol/L and was replaced", "A low glucose of {lowg} mmol/L overnight|one low glucose of {lowg} mmol/L"),
        ("Sick-day rules gone through and ketone strips supplied|ketone strips and sick-day rules given", "Diabetes nurse rings in {n} days|diabetes nurse to ring in {n} days", "Eye screening overdue, rebooked for {d3}|eye screening rebooked for {d3}")),
    Condition("gallstones", "Surgery", (27, 79),
        ("obesity", "reflux", "hypertension", "two caesarean sections", "no regular tablets"),
        ("{n} days of pain under the right ribs after meals|right upper abdominal pain for {n} days", "vomited {m2} times|vomited {m2} times"),
        (("bilirubin", 12, 88, 0, "umol/L"), ("alkaline phosphatase", 90, 420, 0, "U/L"), ("white cells", 9, 19, 1, ""), ("lipase", 30, 190, 0, "U/L")),
        ("Ultrasound: gallstones, thick-walled gallbladder, duct {mm} mm|ultrasound showed gallstones and a duct of {mm} mm", "MRI: no stone in the duct|no stone in the duct on MRI"),
        (("cefuroxime", ("750 mg", "1.5 g"), "three times daily"), ("metronidazole", ("400 mg", "500 mg"), "three times daily"), ("morphine", ("5 mg", "10 mg"), "as needed")),
        (("co-amoxiclav", ("625 mg",), "three times daily for five days"), ("codeine", ("15 mg", "30 mg"), "as needed")),
        ("Keyhole removal of the gallbladder on {d1}, no drain|keyhole removal of the gallbladder on {d1}", "Pain settled without surgery by {d2}|pain had settled by {d2}"),
        ("Wound at the navel oozed; swab taken|the wound at the navel oozed", "Fever of {temp} on {d2}, cultures negative|a fever of {temp} on {d2} with negative cultures"),
        ("No heavy lifting for {n} weeks|no heavy lifting for {n} weeks", "Stitches dissolve; clinic only if needed|no routine clinic", "Surgical clinic in {n} weeks|surgical clinic in {n} weeks")),
    Condition("depression", "Mental health team", (19, 71),
        ("an overdose {n} years ago", "migraine", "underactive thyroid", "no previous contact with services"),
        ("low mood for {n} months since losing a job|low mood for {n} months since losing a job", "wakes at {h} each morning|early waking at {h}"),
        (("depression score", 14, 26, 0, "points"), ("weight", 48, 96, 0, "kg"), ("thyroid stimulating hormone", 0.8, 4.1, 1, "mU/L")),
        ("Thoughts of death without a plan|thoughts of death without a plan", "No thoughts of suicide; worried about the children|no thoughts of suicide"),
        (("sertraline", ("50 mg", "100 mg"), "once daily"), ("mirtazapine", ("15 mg", "30 mg"), "at night"), ("fluoxetine", ("20 mg", "40 mg"), "once daily")),
        (("zopiclone", ("3.75 mg", "7.5 mg"), "at night for one week"), ("promethazine", ("25 mg",), "at night")),
        ("Score {score} on {d2}, sleeping longer|score down to {score} on {d2}", "Back at a walking group since {d2}|back at a walking group since {d2}"),
        ("Nausea in the first week, now gone|nausea in the first week", "Restless on the higher dose, so it was lowered|dose lowered because of restlessness"),
        ("Talking therapy starts on {d3}|talking therapy from {d3}", "Crisis line number given to {them} and {their} sister|crisis line number given", "Review in {n} weeks|review in {n} weeks")),
    Condition("child with croup", "Paediatrics", (1, 5),
        ("born at 36 weeks", "up to date with vaccines", "one earlier episode of wheeze", "egg allergy"),
        ("barking cough since {d0}|barking cough since {d0}", "noisy breathing when upset|stridor when upset"),
        (("temperature", 37.4, 39.2, 1, "C"), ("saturation", 93, 99, 0, "% on air"), ("weight", 9, 19, 1, "kg")),
        ("Mild recession, chest clear|mild recession with a clear chest", "Throat red, no drooling|throat red without drooling"),
        (("dexamethasone", ("1.5 mg", "2 mg", "3 mg"), "once by mouth"), ("adrenaline by nebuliser", ("4 mL", "5 mL"), "once")),
        (("paracetamol", ("120 mg", "180 mg"), "up to four times daily"), ("ibuprofen", ("50 mg", "100 mg"), "up to three times daily")),
        ("No stridor at rest after {n} hours|no stridor at rest after {n} hours", "Drinking well and playing by {d1}|drinking and playing by {d1}"),
        ("Vomited the first dose; repeated|the first dose was vomited and repeated", "Needed oxygen for {m2} hours|oxygen was needed for {m2} hours"),
        ("Parents told to come back if breathing is noisy at rest|to return if breathing is noisy at rest", "No follow-up arranged|no follow-up", "Practice nurse rings on {d3}|practice nurse to ring on {d3}")),
    Condition("rheumatoid arthritis", "Rheumatology clinic", (29, 76),
        ("Sjogren's syndrome", "hypertension", "a frozen shoulder", "latent tuberculosis, treated"),
        ("{n} months of stiff hands, {m} minutes each morning|morning stiffness of {m} minutes for {n} months", "swollen {side} wrist|swelling of the {side} wrist"),
        (("C-reactive protein", 8, 74, 0, "mg/L"), ("rheumatoid factor", 40, 320, 0, "IU/mL"), ("swollen joints", 4, 14, 0, ""), ("disease score", 3.4, 6.8, 1, "")),
        ("Films of hands and feet: no erosions|no erosions on films", "Ultrasound: active synovitis in the {side} wrist|active synovitis of the {side} wrist on ultrasound"),
        (("methotrexate", ("7.5 mg", "10 mg", "15 mg"), "once a week"), ("folic acid", ("5 mg",), "once a week, the day after methotrexate"), ("sulfasalazine", ("500 mg", "1 g"), "twice daily")),
        (("prednisolone", ("5 mg", "7.5 mg", "10 mg"), "once daily, to stop in {n} weeks"), ("naproxen", ("250 mg", "500 mg"), "twice daily")),
        ("Disease score {score2} on {d2}|disease score fell to {score2} by {d2}", "Can open jars again|can open jars again"),
        ("Alanine transaminase rose to {alt} U/L; dose halved|dose halved for alanine transaminase of {alt} U/L", "Mouth ulcers in week {n}|mouth ulcers in week {n}"),
        ("Blood tests every {n} weeks|blood tests every {n} weeks", "Hand therapy referral|referred to hand therapy", "Avoid pregnancy and limit alcohol while on treatment|to avoid pregnancy and limit alcohol")),
    Condition("blood clot in the leg", "Ambulatory care", (31, 82),
        ("a long flight last week", "varicose veins", "breast cancer treated in 2016", "contraceptive pill"),
        ("{side} calf swollen for {n} days|{side} calf swelling for {n} days", "calf {mm} mm larger than the other|calf {mm} mm larger than the other side"),
        (("D-dimer", 900, 6400, 0, "ng/mL"), ("platelets", 160, 410, 0, ""), ("creatinine", 58, 118, 0, "umol/L"), ("weight", 52, 118, 0, "kg")),
        ("Ultrasound: clot in the {side} popliteal vein|popliteal vein clot on the {side}", "Ultrasound: clot in the {side} femoral vein|femoral vein clot on the {side}"),
        (("dalteparin", ("10000 units", "12500 units", "15000 units"), "once daily"), ("apixaban", ("10 mg",), "twice daily for seven days")),
        (("apixaban", ("5 mg",), "twice daily"), ("rivaroxaban", ("15 mg", "20 mg"), "once daily")),
        ("Swelling halved by {d2}|swelling had halved by {d2}", "No bleeding and no chest symptoms|no bleeding or chest symptoms"),
        ("Nosebleed of {m} minutes on {d2}, stopped with pressure|a nosebleed on {d2} stopped with pressure", "Missed two doses while away|two doses were missed"),
        ("Treatment for {n} months|treatment for {n} months", "Clot clinic on {d3}|clot clinic on {d3}", "Stocking not needed|no stocking needed")),
    Condition("upper gastrointestinal bleed", "Gastroenterology", (35, 86),
        ("osteoarthritis with daily naproxen", "alcohol dependence", "cirrhosis", "a duodenal ulcer in 2009"),
        ("black stools for {n} days|black stools for {n} days", "vomited blood {m2} times on {d0}|vomited blood {m2} times on {d0}"),
        (("haemoglobin", 54, 98, 0, "g|L"), ("urea", 9, 24, 1, "mmol/L"), ("pulse", 98, 132, 0, ""), ("clotting ratio", 1.0, 1.9, 1, "")),
        ("Endoscopy on {d1}: duodenal ulcer with a visible vessel, clipped|a duodenal ulcer was clipped at endoscopy on {d1}", "Endoscopy on {d1}: varices, {m2} bands placed|{m2} bands were placed on varices on {d1}"),
        (("omeprazole by infusion", ("8 mg",), "per hour for 72 hours"), ("terlipressin", ("1 mg", "2 mg"), "four times daily"), ("red cells", ("2 units", "3 units"), "once")),
        (("lansoprazole", ("15 mg", "30 mg"), "twice daily"), ("propranolol", ("20 mg", "40 mg"), "twice daily")),
        ("Haemoglobin steady at {hb} g/L since {d2}|haemoglobin steady at {hb} g/L", "Eating, stools brown|eating, with brown stools"),
        ("Helicobacter test positive|helicobacter test was positive", "Naproxen stopped for good|naproxen was stopped"),
        ("Repeat endoscopy in {n} weeks|repeat endoscopy in {n} weeks", "Iron tablets for three months|iron for three months", "Breath test in {n} weeks|breath test in {n} weeks")),
    Condition("epilepsy", "Neurology clinic", (16, 68),
        ("a head injury in 2014", "febrile convulsions as a child", "migraine", "learning disability"),
        ("{m2} seizures since {d0}|{m2} seizures since {d0}", "bitten tongue and confusion for {m} minutes|confusion for {m} minutes afterwards"),
        (("sodium", 129, 142, 0, "mmol/L"), ("valproate level", 28, 96, 0, "mg/L"), ("glucose", 4.4, 7.2, 1, "mmol/L")),
        ("MRI: scar in the {side} temporal lobe|{side} temporal lobe scar on MRI", "EEG: sharp waves on the {side}|sharp waves on the {side} on EEG"),
        (("levetiracetam", ("250 mg", "500 mg", "750 mg"), "twice daily"), ("lamotrigine", ("25 mg", "50 mg"), "once daily")),
        (("clobazam", ("10 mg",), "at night for three days when seizures cluster"), ("buccal midazolam", ("5 mg", "10 mg"), "for seizures over five minutes")),
        ("No seizure since {d2}|no seizure since {d2}", "One brief absence on {d2}|one brief absence on {d2}"),
        ("Irritable on the new tablets, less so now|irritability on the new tablets", "Slept badly and missed doses before the last one|missed doses before the last seizure"),
        ("Licence returned; no driving for twelve months|no driving for twelve months", "Epilepsy nurse in {n} weeks|epilepsy nurse in {n} weeks", "Showers, not baths|showers rather than baths")),
    Condition("leg ulcer", "District nursing", (58, 93),
        ("varicose veins", "type 2 diabetes", "heart failure", "lives with a daughter"),
        ("ulcer above the {side} ankle for {n} months|{side} ankle ulcer for {n} months", "more pain at night|more pain at night"),
        (("ulcer length", 18, 74, 0, "mm"), ("ankle pressure index", 0.72, 1.1, 2, ""), ("HbA1c", 41, 92, 0, "mmol/mol")),
        ("Base sloughy, edges sloping, no bone felt|sloughy base with no bone felt", "Swab grew Pseudomonas|swab grew Pseudomonas"),
        (("flucloxacillin", ("500 mg", "1 g"), "four times daily for seven days"), ("ciprofloxacin", ("500 mg", "750 mg"), "twice daily for seven days")),
        (("honey dressing", ("one",), "three times a week"), ("two-layer compression", ("40 mmHg",), "changed twice a week")),
        ("Length {mm} mm on {d2}|length down to {mm} mm on {d2}", "Smell gone, pain score {m2}|pain score {m2} and no smell"),
        ("Bandage slipped and was cut off by {them}|the bandage slipped and was cut off", "Skin around it red with the tape|skin red from the tape"),
        ("Vascular clinic on {d3}|vascular clinic on {d3}", "Legs up when sitting|to keep the legs up", "Photograph every {n} weeks|photographs every {n} weeks")),
)  # fmt: skip

LONG = 0.75
"""Share of the stays whose notes are as long and as full of small things as real ones."""
HOMES = (
    "Lives alone in a second-floor flat|lives alone", "Lives with {their} partner|lives with {their} partner", "Carers come twice a day|carers visit twice a day",
    "Works as a bus driver|works as a bus driver", "Looks after a disabled son|looks after a disabled son", "Allergic to penicillin|allergic to penicillin",
    "No known allergies|no known allergies", "Allergic to latex|allergic to latex", "Smokes ten a day|smokes ten a day", "Does not smoke|does not smoke",
)  # fmt: skip


ROUTINE = (
    "Pulse {p1} and regular.", "Blood pressure {sys}/{dia}.", "Respiratory rate {rr}.", "Temperature {t1} C.", "Saturation {sat}% on air.", "Heart sounds normal.", "Chest clear.", "Abdomen soft.",
    "No ankle swelling.", "Weight {kg} kg.", "Height {cm} cm.", "Pupils equal.", "No rash.", "Throat normal.", "Calves soft.", "Urine dip clear.", "Platelets {plt}.", "Sodium {na} mmol/L.",
    "Haemoglobin {hgb} g/L.", "Albumin {alb} g/L.", "Calcium {ca} mmol/L.", "Liver tests normal.", "Clotting normal.", "Magnesium normal.", "Blood cultures sent.", "Cannula in the left forearm.",
    "Cannula re-sited.", "Fluid chart started.", "Observations every four hours.", "Diet and fluids as tolerated.", "Eating about half of meals.", "Slept {hrs} hours.", "Pain {pain} out of 10 at rest.",
    "Bowels opened.", "Passing urine.", "Washed with help of one.", "Pressure areas intact.", "Stockings on.", "Seen by the dietitian.", "Seen by the physiotherapist.", "Seen by the pharmacist; chart checked.",
    "Family visited and were updated.", "Interpreter not needed.", "Asked about parking for visitors.", "Television not working; reported.", "Moved to bay {bay}.", "Side room until swabs are back.",
    "Swabs negative.", "Consent form filed.", "Next of kin is {kin}.", "Telephone number checked.", "Glasses and hearing aid with the patient.", "Property list signed.", "Taxi booked for {clock}.",
    "Cannula removed.", "Copy of this letter given.", "Tablets explained by the nurse.", "Transport not needed.", "Key safe number on file.", "Questionnaire handed out.", "Student nurse present throughout.",
    "Chaperone present.", "Handed over at {clock}.", "Reviewed with the consultant.", "Bed manager informed.", "Mood bright.", "Orientated.", "Mouth care given.", "Ate breakfast.", "Afebrile.",
    "Repeat bloods tomorrow.", "No change to the plan.", "Continue as charted.", "Nothing further overnight.", "Comfortable.",
)  # fmt: skip
"""What notes say and no summary needs to."""


def story(rng: random.Random) -> Story:
    """One invented case."""
    return _diary(rng) if rng.random() < 0.2 else _stay(rng)


def _stay(rng: random.Random) -> Story:
    about = rng.choice(CONDITIONS)
    woman = rng.random() < 0.5
    day, month = rng.randint(2, 18), rng.choice(MONTHS)
    days = [day - 1, day, day + rng.randint(1, 3)]
    days += [days[2] + rng.randint(1, 3)]
    days += [days[3] + rng.randint(1, 4)]
    date = [f"{d} {month}" for d in days]
    slots = {
        "n": rng.randint(2, 9), "m": rng.choice((10, 15, 20, 30, 40)), "m2": rng.choice(("two", "three", "four", "five")), "side": rng.choice(SIDE), "h": rng.choice((3, 4, 5)),
        "d0": date[0], "d1": date[2], "d2": date[3], "d3": f"{rng.randint(1, 28)} {MONTHS[(MONTHS.index(month) + 1) % 12]}",
        "low": rng.randint(95, 150), "bladder": rng.choice((540, 680, 720, 860, 910)), "hb": rng.randint(71, 109), "ef": rng.choice((32, 38, 41, 45, 52, 58)), "pf": rng.randint(310, 480),
        "k": rng.choice(("2.9", "3.1", "3.3")), "lowg": rng.choice(("2.8", "3.1", "3.4")), "mm": rng.randint(4, 36), "temp": rng.choice(("38.2", "38.6", "38.9")),
        "score": rng.randint(6, 13), "score2": rng.choice(("2.1", "2.6", "3.0")), "alt": rng.randint(88, 190),
        "them": "her" if woman else "him", "their": "her" if woman else "his",
    }  # fmt: skip

    def both(choices: tuple[str, ...], count: int = 1) -> list[tuple[str, str]]:
        pairs = []
        for chosen in rng.sample(choices, min(count, len(choices))):
            drawn = {**slots, "n": rng.randint(2, 9)}
            first, _, second = chosen.partition("|")
            pairs.append((first.format(**drawn), (second or first).format(**drawn)))
        return pairs

    age = rng.randint(*about.ages)
    kind = ("girl" if woman else "boy") if age < 16 else ("woman" if woman else "man")
    who = f"{age}-year-old {kind}"
    article = "An" if age in (8, 11, 18) or 80 <= age <= 89 else "A"
    pronoun = "She" if woman else "He"
    past = rng.sample(about.past, rng.randint(1, 2))
    past_text = " and ".join(each.format(**slots) for each in past)
    symptoms = both(about.symptoms, 2)
    labs = [
        (name, f"{rng.uniform(low, high):.{places}f}", unit)
        for name, low, high, places, unit in rng.sample(about.labs, rng.randint(2, len(about.labs)))
    ]
    finding, course, snag = (
        both(about.finding)[0],
        both(about.course)[0],
        both(about.snag)[0] if rng.random() < 0.7 else None,
    )
    plans = both(about.plan, rng.randint(2, 3))
    home = both(HOMES)[0] if rng.random() < 0.6 else None
    first = [
        (d, rng.choice(doses), often.format(**slots))
        for d, doses, often in rng.sample(about.first, rng.randint(1, 2))
    ]
    later = [(d, rng.choice(doses), often.format(**slots)) for d, doses, often in rng.sample(about.later, 1)]

    def level(lab: tuple[str, str, str]) -> str:
        name, value, unit = lab
        return f"{name} {value}" + (unit if unit.startswith("%") else f" {unit}" if unit else "")

    def dose(drug: tuple[str, str, str]) -> str:
        return " ".join(drug)

    lab_text = ", ".join(map(level, labs))
    note1 = [
        f"{about.place}, {date[1]}. {article} {who} with {past_text}, seen for {symptoms[0][0]}; {symptoms[1][0]}.",
        f"{lab_text[0].upper()}{lab_text[1:]}.",
        f"{finding[0]}.",
        f"{_capital(' and '.join(map(dose, first)))} started.",
    ]
    if home:
        note1.append(f"{home[0]}.")
    note2 = [f"{rng.choice(('Review', 'Ward round', 'Progress note'))}, {date[3]}. {course[0]}."] + (
        [f"{snag[0]}."] if snag else []
    )
    note3 = [
        f"{rng.choice(('Discharge', 'Letter', 'Plan'))}, {date[4]}.",
        f"Continues {' and '.join(map(dose, later))}.",
        *(f"{plan[0]}." for plan in plans),
    ]
    shown = rng.sample(labs, min(len(labs), 2)) if rng.random() < 0.5 else labs
    lines = [
        f"{article} {who} with {past_text} was seen on {date[1]} with {about.name}: {symptoms[0][1]}, {symptoms[1][1]}.",
        f"{_capital(' and '.join(map(level, shown)))}; {finding[1]}.",
        rng.choice(
            (
                f"Treatment began with {' and '.join(map(dose, first))}.",
                f"{_capital(' and '.join(map(dose, first)))} {'was' if len(first) == 1 else 'were'} started.",
            )
        ),
        f"{_capital(course[1])}{f'; {snag[1]}' if snag else ''}.",
        rng.choice(
            (
                f"{pronoun} left on {date[4]} on {' and '.join(map(dose, later))}.",
                f"On {date[4]} {pronoun.lower()} went home with {' and '.join(map(dose, later))}.",
            )
        ),
        f"{rng.choice(('Plan: ', 'To follow: ', 'Please note: '))}{'; '.join(plan[1] for plan in plans)}.",
    ]
    if home:
        lines.insert(
            rng.choice((1, len(lines) - 1)),
            f"{pronoun} {home[1]}."
            if home[1].split()[0] in ("lives", "works", "looks", "smokes", "does")
            else f"{_capital(home[1])}.",
        )
    if rng.random() < LONG:
        note1, note2, note3 = (
            _with_routine(note, rng.randint(*span), rng)
            for note, span in ((note1, (3, 8)), (note2, (3, 9)), (note3, (1, 5)))
        )
    notes = [" ".join(note1), " ".join(note2), " ".join(note3)]
    if rng.random() < 0.25:
        notes = [notes[0], f"{notes[1]} {notes[2]}"]
    return Story(tuple(notes), " ".join(lines))


_AILMENTS = (
    ("sore throat", ("penicillin V 500 mg four times a day", "ibuprofen 400 mg three times a day"), "throat swab"),
    ("painful ear", ("amoxicillin 500 mg three times a day", "paracetamol 1 g four times a day"), "hearing test"),
    ("burning on passing urine", ("nitrofurantoin 100 mg twice a day", "trimethoprim 200 mg twice a day"), "urine culture"),
    ("back pain after lifting", ("naproxen 250 mg twice a day", "codeine 30 mg four times a day"), "MRI of the spine"),
    ("itchy rash on both arms", ("cetirizine 10 mg once a day", "hydrocortisone 1% cream twice a day"), "patch test"),
    ("swollen big toe", ("colchicine 500 micrograms twice a day", "naproxen 500 mg twice a day"), "uric acid level"),
    ("cough and wheeze", ("prednisolone 30 mg once a day", "salbutamol two puffs four times a day"), "chest film"),
    ("loose stools", ("loperamide 2 mg as needed", "oral rehydration sachets after each stool"), "stool sample"),
    ("red eye", ("chloramphenicol drops four times a day", "sodium cromoglicate drops four times a day"), "eye clinic visit"),
    ("dizziness on turning over", ("prochlorperazine 5 mg three times a day", "betahistine 16 mg three times a day"), "balance clinic visit"),
)  # fmt: skip
_FIRST = ("No allergies.", "Allergic to aspirin.", "Blood pressure 124/78.", "No fever.", "Temperature 37.8.", "Has had it once before.", "Not pregnant.", "Works shifts.")  # fmt: skip
_LATER = (
    "Much better.",
    "A little better.",
    "No better yet.",
    "Sleeping well again.",
    "Back at work.",
    "Appetite has returned.",
)


def _diary(rng: random.Random) -> Story:
    """Two or three short entries and a few lines that sum them up."""
    start = rng.randrange(4)
    days = DAYS[start], DAYS[start + rng.randint(1, 2)]
    ailment, drugs, test = rng.choice(_AILMENTS)
    drug, length, weeks = (
        rng.choice(drugs),
        rng.randint(2, 9),
        rng.choice(("one week", "two weeks", "three weeks", "ten days")),
    )
    facts, later = rng.sample(_FIRST, 2), rng.choice(_LATER)
    notes = (
        f"{days[0]}: {ailment} for {length} days. {_capital(drug)} started. {' '.join(facts)}",
        f"{days[1]}: {later} Finish the course. {_capital(test)} if not well in {weeks}.",
    )
    lines = [
        f"{_capital(ailment)} for {length} days.",
        f"{_capital(drug)} was started on {days[0]}.",
        facts[0],
        facts[1],
        f"By {days[1]}: {later[0].lower()}{later[1:]}",
        f"The course is to be finished; {test} if not well in {weeks}.",
    ]
    return Story(notes, " ".join(lines))


def _with_routine(note: list[str], count: int, rng: random.Random) -> list[str]:
    """A note with what is always written down too, here and there; its heading stays first."""
    slots = {
        "p1": rng.randint(58, 108), "sys": rng.randint(98, 168), "dia": rng.randint(54, 94), "rr": rng.randint(12, 24), "t1": f"{rng.uniform(36.1, 38.4):.1f}", "sat": rng.randint(92, 99),
        "kg": rng.randint(44, 112), "cm": rng.randint(148, 192), "plt": rng.randint(148, 412), "na": rng.randint(132, 145), "hgb": rng.randint(102, 158), "alb": rng.randint(24, 46),
        "ca": f"{rng.uniform(2.1, 2.6):.2f}", "hrs": rng.choice(("four", "five", "six", "seven")), "pain": rng.randint(0, 6), "bay": rng.choice("ABCDE"),
        "kin": rng.choice(("a sister", "a son", "a neighbour", "a daughter", "a brother", "the partner")), "clock": f"{rng.randint(7, 19)}:{rng.choice(('00', '15', '30', '45'))}",
    }  # fmt: skip
    written = list(note)
    for line in rng.sample(ROUTINE, count):
        written.insert(rng.randint(1, len(written)), line.format(**slots))
    return written


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
