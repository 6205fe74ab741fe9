"""Invented talks between doctor and patient, and notes that say the same in a clinician's words. No patient exists.

A note that is right seldom repeats the words of its talk: "my mom's brother" is a maternal uncle, "twice a day" is b.i.d., "two thousand
five" is 2005. Each fact here is said in lay words and written in clinical ones, drawn by seed; a slip is another value of the
same kind in the note. Facts can stand alone as a talk of their own or be put into somebody else's.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from venire import Case
from venire.evals.training.planting import Fault, PlantedText

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]

_KINDS = """
relative: mom's brother, my mother's brother = maternal uncle | dad's brother, my father's brother = paternal uncle | mom's sister = maternal aunt | dad's sister = paternal aunt | mom's mom, my grandmother on my mom's side = maternal grandmother | dad's mom, my grandmother on my dad's side = paternal grandmother | mom's dad = maternal grandfather | dad's dad = paternal grandfather | mom = mother | dad = father | brother = brother | sister = sister
illness: high blood pressure, blood pressure problems = hypertension, high blood pressure, HTN | sugar, sugar diabetes, diabetes = diabetes, diabetes mellitus, DM | a heart attack = myocardial infarction, heart attack, MI | high cholesterol = hyperlipidemia, high cholesterol, hypercholesterolemia | a stroke = stroke, CVA, cerebrovascular accident | acid reflux, really bad heartburn = GERD, gastroesophageal reflux disease | an underactive thyroid, low thyroid = hypothyroidism | an overactive thyroid = hyperthyroidism | kidney stones = nephrolithiasis, kidney stones | gallstones = cholelithiasis, gallstones | C O P D, emphysema = COPD, emphysema | asthma = asthma | A fib, an irregular heartbeat = atrial fibrillation, AFib | migraines = migraine headaches, migraines | thin bones, bone loss = osteoporosis | gout = gout | low iron, low blood counts = anemia | a blood clot in the leg = deep venous thrombosis, DVT | seizures, fits = seizure disorder, epilepsy | arthritis = arthritis | sleep apnea = sleep apnea, OSA | depression = depression | panic attacks = panic disorder | glaucoma = glaucoma | psoriasis = psoriasis | hay fever = seasonal allergies, allergic rhinitis | shingles = herpes zoster, shingles | pneumonia = pneumonia | a clot in the lung = pulmonary embolism | heart failure = congestive heart failure, CHF
cancer: breast = breast | colon, bowel = colon | lung = lung | prostate = prostate | ovarian = ovarian | skin = skin | kidney = renal, kidney | stomach = gastric, stomach | thyroid = thyroid | brain = brain | bladder = bladder | pancreatic = pancreatic
surgery: my gallbladder out, my gallbladder taken out = cholecystectomy | my appendix out, my appendix removed = appendectomy | my tonsils out = tonsillectomy | a hysterectomy = hysterectomy | a knee replacement, my knee replaced = knee replacement, total knee arthroplasty | a hip replacement, my hip replaced = hip replacement, total hip arthroplasty | a hernia fixed, a hernia repair = hernia repair, herniorrhaphy | open heart surgery, bypass surgery = coronary artery bypass grafting, CABG | my cataracts done, cataract surgery = cataract extraction, cataract surgery | a carpal tunnel surgery = carpal tunnel release | tubes put in my ears = tympanostomy tubes | a breast removed = mastectomy | my thyroid taken out = thyroidectomy | a back operation, back surgery = lumbar surgery, back surgery | a pacemaker put in = pacemaker placement | a stent put in = stent placement | part of my colon removed = partial colectomy | a C section = cesarean section, C-section | my spleen taken out = splenectomy | rotator cuff surgery = rotator cuff repair
drug: = lisinopril | = metformin | = Lipitor | = Synthroid | = aspirin | = Coumadin | = Plavix | = Lasix | = metoprolol | = atenolol | = Norvasc | = Zoloft | = Lexapro | = Prozac | = Nexium | = Prilosec | = Advair | = Singulair | = prednisone | = gabapentin | = Lyrica | = tramadol | = Celebrex | = Xanax | = Ambien | = digoxin | = allopurinol | = Flomax | = Zocor | = Crestor | = glipizide | = Lantus | = Topamax | = Depakote | = methotrexate | = folic acid | = Fosamax | = hydrochlorothiazide | = Diovan | = Cymbalta
often: once a day, one time a day, every day = daily, once a day, q.d. | twice a day, two times a day, morning and night = b.i.d., twice a day, twice daily | three times a day = t.i.d., three times a day, three times daily | four times a day = q.i.d., four times a day | at bedtime, before I go to bed = q.h.s., at bedtime, nightly | every other day = every other day, q.o.d. | when I need it, as needed, from time to time = p.r.n., as needed | once a week = weekly, once a week
strength: five = 5 | ten = 10 | twenty = 20 | twenty five = 25 | forty = 40 | fifty = 50 | seventy five = 75 | eighty one = 81 | a hundred = 100 | one fifty = 150 | two hundred = 200 | three hundred = 300 | three twenty five = 325 | five hundred = 500 | eight fifty = 850 | a thousand = 1000
symptom: chest pain, pain in my chest = chest pain | shortness of breath, trouble breathing, trouble catching my breath = shortness of breath, dyspnea | throwing up, vomiting = vomiting, emesis | feeling sick to my stomach, nausea = nausea | the runs, loose stools, diarrhea = diarrhea, loose stools | trouble going to the bathroom, constipation = constipation | fevers, a fever = fever, fevers | chills = chills | dizziness, feeling lightheaded = dizziness, lightheadedness | passing out, fainting, blackouts = syncope, loss of consciousness | headaches = headache, headaches | blurry vision, blurred vision = blurred vision | double vision = diplopia, double vision | ringing in my ears = tinnitus | trouble swallowing = dysphagia, difficulty swallowing | heartburn = heartburn | blood in my stool, bloody stools = hematochezia, blood in the stool | blood in my urine, blood when I pee = hematuria, blood in the urine | burning when I pee, burning when I urinate = dysuria, burning with urination | swelling in my legs, swollen ankles = lower extremity edema, leg swelling | my heart racing, heart fluttering = palpitations | a rash = rash, skin rash | itching = pruritus, itching | numbness or tingling = numbness or tingling, paresthesias | joint pain, pain in my joints = joint pain, arthralgia | muscle aches = myalgias, muscle aches | night sweats = night sweats | weight loss, losing weight = weight loss | trouble sleeping = insomnia, difficulty sleeping | feeling tired all the time, being tired = fatigue | a sore throat = sore throat | a stuffy nose, a runny nose = nasal congestion, rhinorrhea | coughing, a cough = cough | wheezing = wheezing | nosebleeds = epistaxis, nosebleeds | getting up at night to pee = nocturia | back pain = back pain | stomach pain, belly pain = abdominal pain
place: left knee = left knee | right knee = right knee | left shoulder = left shoulder | right shoulder = right shoulder | lower back = lower back, low back | neck = neck | left hip = left hip | right hip = right hip | left ankle = left ankle | right ankle = right ankle | left wrist = left wrist | right wrist = right wrist | right elbow = right elbow | left foot = left foot | right foot = right foot | left hand = left hand | right hand = right hand
allergen: penicillin = penicillin | sulfa drugs, sulfa = sulfa | codeine = codeine | latex = latex | morphine = morphine | shellfish = shellfish | peanuts = peanuts | aspirin = aspirin | iodine, contrast dye = iodine, contrast dye | bee stings = bee stings | erythromycin = erythromycin | Cipro = Cipro | tetracycline = tetracycline | eggs = eggs
reaction: breaking out in hives, hives = hives, urticaria | a rash = rash | throwing up = vomiting | swelling of my throat, my throat swelling up = throat swelling, angioedema | trouble breathing = dyspnea, shortness of breath | itching all over = pruritus, itching | an upset stomach = stomach upset, GI upset
job: drive a truck = truck driver | teach third grade, teach school = teacher | work as a nurse = nurse | fix cars, work on cars = mechanic | work in construction = construction worker | do the books for a company = accountant, bookkeeper | cut hair = hairdresser | farm = farmer | am a lawyer = lawyer, attorney | wait tables = waitress or waiter, server | work as an electrician = electrician | work in an office = office worker | am in college = college student | stay home with the kids = homemaker
marriage: married = married | divorced = divorced | a widow, widowed = widowed | single, not married = single, not married | separated = separated
specialist: a heart doctor, the cardiologist = cardiologist, cardiology | a lung doctor = pulmonologist, pulmonology | a skin doctor = dermatologist, dermatology | a kidney doctor = nephrologist, nephrology | a stomach doctor = gastroenterologist, GI | a bone doctor = orthopedist, orthopedics | an eye doctor = ophthalmologist, eye doctor | a nerve doctor, the neurologist = neurologist, neurology | a cancer doctor = oncologist, oncology | a foot doctor = podiatrist | an ear nose and throat doctor = ENT, otolaryngologist | a psychiatrist = psychiatrist
test: an M R I = MRI | a C T scan, a cat scan = CT scan, CT | an ultrasound = ultrasound | an X ray = x-ray | an E K G = EKG, ECG | an echo = echocardiogram | a stress test = stress test | a colonoscopy = colonoscopy | a mammogram = mammogram | a bone density scan = DEXA scan, bone density scan | blood work = laboratory studies, blood work | a sleep study = sleep study, polysomnogram
outcome: normal, fine, clear = normal, unremarkable, negative | abnormal, not normal = abnormal
quality: sharp = sharp | dull, achy = dull, aching | burning = burning | throbbing = throbbing | stabbing = stabbing | crampy = cramping | like pressure = pressure-like
course: getting worse = worsening, progressively worse | getting better = improving, better | about the same = unchanged, stable | coming and going = intermittent
trigger: when I climb stairs, going up stairs = with climbing stairs | when I walk = with walking, with ambulation | when I lie down = when lying down, when supine | when I lift things = with lifting | when I bend over = with bending | when I eat = with eating, after meals | in the cold = with cold exposure | when I cough = with coughing
relief: rest = rest | ice = ice | heat, a heating pad = heat | Tylenol = Tylenol, acetaminophen | ibuprofen, Advil, Motrin = ibuprofen, NSAIDs | stretching = stretching | sitting up = sitting up
month: = January | = February | = March | = April | = May | = June | = July | = August | = September | = October | = November | = December
unit: days = days | weeks = weeks | months = months | years = years
"""
"""Of each kind: what is said (several ways) = what is written (several ways). Where nothing is said, the written word is."""


def _table(lines: str) -> dict[str, list[tuple[list[str], list[str]]]]:
    found = {}
    for line in lines.strip().splitlines():
        kind, _, values = line.partition(": ")
        pairs = []
        for value in values.split(" | "):
            said, _, written = value.partition("= ")
            forms = [form.strip() for form in written.split(", ")]
            pairs.append(([form.strip() for form in said.split(", ") if form.strip()] or forms, forms))
        found[kind] = pairs
    return found


KINDS = _table(_KINDS)
SMALL = {"unit", "month", "quality", "outcome"}

FACTS = (
    ("Does anything run in your family?|Any family history of medical problems?|What about your family's health?", "My {relative} had {illness}.|Um, my {relative} has {illness}.", "{Relative} with {illness}.|There is a family history of {illness} in {their} {relative}.|{Their} {relative} had {illness}."),
    ("Any cancer in the family?|Is there a history of cancer?", "Yes, my {relative} had {cancer} cancer.|My {relative} was diagnosed with {cancer} cancer at {age}.", "Family history is positive for {cancer} cancer in {their} {relative}.|{Relative} with {cancer} cancer.|{Their} {relative} had {cancer} cancer."),
    ("Do you have any medical problems?|Any conditions that I should know about?|What has your health been like?", "I have {illness}.|Well, I've had {illness} for years.", "Past medical history is significant for {illness}.|{She} has a history of {illness}.|{Illness}."),
    ("Have you had any surgeries?|Any operations in the past?|Ever had surgery?", "I had {surgery} in {year}.|Yes, {surgery}, back in {year}.", "{Surgery} in {year}.|{She} had a {surgery} in {year}.|Status post {surgery} in {year}."),
    ("What medications are you taking?|Are you on any medicines?|What do you take every day?", "I take {drug}, {strength} milligrams, {often}.|{drug}, {strength} milligrams {often}.", "{Drug} {strength} mg {often}.|{She} takes {drug} {strength} mg {often}.|{Drug} {strength} mg p.o. {often}"),
    ("Are you taking anything else?|Anything over the counter?", "I also take {drug} {often}.|Just {drug}, {often}.", "{Drug} {often}.|{She} also takes {drug} {often}."),
    ("Are you allergic to anything?|Any drug allergies?|Do you have allergies?", "Yes, {allergen}. I get {reaction}.|I'm allergic to {allergen}; it gives me {reaction}.", "{Allergen}, which causes {reaction}.|Allergic to {allergen} ({reaction}).|{She} has an allergy to {allergen} with {reaction}."),
    ("Any allergies?|Are you allergic to any medication?", "{allergen} and {allergen2}.|I can't take {allergen} or {allergen2}.", "{Allergen} and {allergen2}.|{She} is allergic to {allergen} and {allergen2}."),
    ("Have you had any {symptom}?|What about {symptom}?|Any {symptom}?", "No.|Nope.|No, nothing like that.|Not at all.|No, I haven't.", "{She} denies {symptom}.|Denies any {symptom}.|No {symptom}.|Negative for {symptom}."),
    ("Have you had any {symptom}?|Any {symptom}?|Do you notice {symptom}?", "Yes, I have.|Yeah, quite a bit.|Yes, for about {n} {unit}.", "{She} reports {symptom}.|Positive for {symptom}.|{She} complains of {symptom}.|{She} endorses {symptom}."),
    ("Any {symptom} or {symptom2}?|Have you noticed {symptom} or {symptom2}?", "No, neither.|No.|None of that.", "{She} denies {symptom} or {symptom2}.|No {symptom} or {symptom2}.|Negative for {symptom} and {symptom2}."),
    ("Any {symptom} or {symptom2}?|Do you have {symptom} or {symptom2}?", "I've had {symptom}, but no {symptom2}.|Some {symptom}. No {symptom2}.", "{She} has {symptom}, but denies {symptom2}.|Positive for {symptom}. Negative for {symptom2}.|{She} reports {symptom} without {symptom2}."),
    ("What brings you in today?|How can I help you?|What's going on?", "My {place} hurts. It's {quality}.|I've had {quality} pain in my {place} for {n} {unit}.", "{She} presents with {quality} {place} pain.|{She} complains of {quality} pain in the {place}."),
    ("How long has this been going on?|When did it start?", "About {n} {unit} ago.|It's been {n} {unit}.|Maybe {n} {unit} now.", "Symptoms began {n} {unit} ago.|This has been going on for {n} {unit}.|Onset was approximately {n} {unit} ago.|Duration is {n} {unit}."),
    ("Is it better or worse?|How has it been since?", "It's {course}.|I'd say it's {course}.", "Symptoms are {course}.|It has been {course}."),
    ("What makes it worse?|Does anything bring it on?", "{trigger}, mostly.|It hurts {trigger}.", "It is worse {trigger}.|Aggravated {trigger}.|Symptoms occur {trigger}."),
    ("Does anything help?|What makes it better?", "{relief} helps.|A little {relief}.", "Relieved by {relief}.|{Relief} provides relief.|It improves with {relief}."),
    ("On a scale from one to ten, how bad is it?|How would you rate the pain?", "Probably {low} out of ten.|I'd say a {low}.", "Pain is rated {low}/10.|{She} rates the pain {low} out of 10."),
    ("How old are you?|Can you tell me your age?|And your age?", "I'm {age}.|I am {age} years old.|I just turned {age}.", "{She} is {age} years old.|This is a {age}-year-old patient.|The patient is {age} years of age."),
    ("Do you smoke?|Any tobacco?|Are you a smoker?", "I smoke about {packs} a day.|Yes, {packs} a day for {years} years.", "{She} smokes {packs} per day.|Tobacco use of {packs} a day."),
    ("Do you smoke?|Any tobacco use?", "No.|Never.|No, never have.", "{She} does not smoke.|Nonsmoker.|Denies tobacco use.|No history of tobacco use."),
    ("Do you smoke?|Tobacco?", "I quit {years} years ago.|I used to, but I stopped {years} years ago.", "{She} quit smoking {years} years ago.|Former smoker, quit {years} years ago.|Stopped tobacco {years} years ago."),
    ("Do you drink alcohol?|How about alcohol?", "I have about {n} beers a week.|Maybe {n} drinks a week.", "{She} drinks approximately {n} alcoholic beverages per week.|Alcohol use of about {n} drinks a week."),
    ("Do you drink?|Any alcohol?", "No, I don't drink.|Not really, only on holidays.|Just socially.", "{She} denies regular alcohol use.|No significant alcohol use.|Alcohol only socially or not at all."),
    ("Any drugs?|Do you use recreational drugs?|What about street drugs?", "No.|Never.|No, nothing like that.", "Denies illicit drug use.|No recreational drugs.|{She} does not use illicit drugs."),
    ("What do you do for work?|What do you do for a living?", "I {job}.|Well, I {job}.", "{She} works as a {job}.|Occupation: {job}.|Employed as a {job}."),
    ("Are you married?|What about your home life?", "I'm {marriage}, and I have {n} kids.|I am {marriage}, with {n} children.", "{She} is {marriage} and has {n} children.|{Marriage} with {n} children."),
    ("Any children?|Do you have kids?", "{n}, {boys} boys and the rest are girls.|Yes, {n} of them.", "{She} has {n} children."),
    ("Have you seen anybody about this?|Who sent you?|Who else do you see?", "I saw {specialist} in {month}.|{specialist} sent me, back in {month}.", "{She} was seen by {specialist} in {month}.|Evaluated in {month} by {specialist}."),
    ("Did they do any tests?|What tests have you had?", "They did {test} in {month}, and it was {outcome}.|I had {test}. It came back {outcome}.", "{Test} was {outcome}.|{Test} came back {outcome}.|{She} had {test}, which was {outcome}."),
    ("When was that last checked?|When was your last test?", "I had {test} in {year}.|In {year}, with {test}.", "Last {test} was in {year}.|{Test} in {year}."),
    ("What is the blood pressure today?|How is the blood pressure?", "It's {systolic} over {diastolic}.", "Blood pressure is {systolic}/{diastolic}.|BP {systolic}/{diastolic}."),
    ("What was the temperature?|Any fever when you checked?", "It was a hundred and {low} point {digit}.", "Temperature was 10{low}.{digit}.|T-max of 10{low}.{digit}."),
    ("What do you weigh?|How much do you weigh?", "{pounds} pounds.|I'm at {pounds}.", "Weight is {pounds} pounds.|{She} weighs {pounds} pounds."),
    ("When do you want to see me again?|When should I come back?", "Let's see you in {n} {unit}.|Come back in {n} {unit}.", "Follow up in {n} {unit}.|{She} will return in {n} {unit}.|Followup in {n} {unit}."),
    ("What happens next?|So what's the plan?", "I'd like you to have {test}, and I'm sending you to {specialist}.|We'll get {test} and have you see {specialist}.", "Plan is for {test} and referral to {specialist}.|We will obtain {test} and refer to {specialist}."),
    ("Do you want to change my medicine?|What about my pills?", "Let's start {drug}, {strength} milligrams, {often}.|I want you to take {drug} {strength} milligrams {often}.", "We will start {drug} {strength} mg {often}.|{Drug} {strength} mg {often} was prescribed."),
    ("Did you get hurt?|What happened?", "I fell on my {place} in {month}.|I twisted it, my {place}, {n} {unit} ago.", "{She} injured {their} {place}.|Injury to the {place}."),
    ("Have you been in the hospital?|Any hospital stays?", "For {illness}, in {year}.|Once, for {illness}, in {year}.", "{She} was hospitalized for {illness} in {year}.|Hospitalization in {year} for {illness}."),
)  # fmt: skip
"""What the doctor asks (some that the patient asks), what is answered, what is written; several wordings of each, between bars."""
_CHATTER = ("Okay.|I see.", "All right.|Okay.", "Got it. Let me write that down.|Sure.", "I'm sorry to hear that.|Thank you.", "That's good to hear.|Yeah.", "Let's go on.|Okay.")  # fmt: skip
_TOPICS = {"smok": "smoke", "tobacco": "smoke", "drink": "drink", "alcohol": "drink", "allerg": "allergy", "old are": "age", "your age": "age", "married": "home", "home": "home", "children": "home", "kids": "home"}  # fmt: skip
_TOPIC = re.compile("|".join(_TOPICS), re.IGNORECASE)
"""Questions that one talk asks once: two answers could contradict each other."""
_SLOT = re.compile(r"\{(\w+?)(2?)\}")


@dataclass(frozen=True)
class Slip:
    """Words of the note and what could stand there in their place, wrongly."""

    right: str
    wrong: str
    wrongly_said: str
    kind: str
    points: int


@dataclass(frozen=True)
class Fact:
    """Turns of a talk and the sentence of the note that they bear out."""

    asked: str
    answered: str
    written: str
    slips: tuple[Slip, ...]

    @property
    def topic(self) -> str:
        found = _TOPIC.search(self.asked)
        return _TOPICS[found.group().lower()] if found else self.asked


def fact(rng: random.Random, woman: bool) -> Fact:
    """One invented fact."""
    asked, answered, written = _wording(rng)
    said: dict[str, str] = {}
    noted: dict[str, str] = {
        "She": rng.choice(("She" if woman else "He", "The patient")),
        "Their": "Her" if woman else "His",
        "their": "her" if woman else "his",
    }
    slips = []
    for name, second in dict.fromkeys(_SLOT.findall(asked + answered + written)):
        kind, slot = name.lower(), name.lower() + second
        if name in ("She", "Their", "their") or slot in said:
            continue
        (lay, clinical), other = _values(kind, rng, set(said.values()))
        said[slot], noted[slot] = lay, clinical
        if "{" + slot + "}" in written.lower():
            points = 2 if kind in SMALL else 3
            slips.append(Slip(clinical, other[1], other[0], _slip_kind(kind), points))
    return Fact(_filled(asked, said), _filled(answered, said), _filled(written, noted), tuple(slips))


def talk(rng: random.Random) -> tuple[Case, tuple[Slip, ...]]:
    """An invented talk with its note, and the slips that can be made in it."""
    woman = rng.random() < 0.5
    facts = _unlike([fact(rng, woman) for _ in range(rng.choice((2, 3, 3, 4, 4, 5, 6, 8)))])
    lines = []
    for each in facts:
        lines += [f"Doctor: {each.asked}", f"Patient: {each.answered}"]
        if rng.random() < 0.25:
            doctor, patient = rng.choice(_CHATTER).split("|")
            lines += [f"Doctor: {doctor}", f"Patient: {patient}"]
    written = list(facts)
    if rng.random() < 0.3:
        rng.shuffle(written)
    note = rng.choice((" ", "  ")).join(each.written for each in written)
    case = Case(id="talk", output=note, source="\n".join(lines), group="talk")
    return case, tuple(slip for each in facts for slip in each.slips)


def with_facts(case: Case, rng: random.Random) -> tuple[Case, tuple[Slip, ...]]:
    """`case` with one or two invented facts in its source and in its note."""
    source, note = "\n".join(case.source), case.output
    woman = re.search(r"\b(?:she|her|woman|female)\b", note, re.IGNORECASE) is not None
    slips: list[Slip] = []
    for each in _unlike([fact(rng, woman) for _ in range(rng.choice((1, 1, 2)))]):
        lines = source.splitlines()
        place = rng.choice(
            [i for i, line in enumerate(lines) if line.startswith("Patient")] or [len(lines) - 1]
        )
        lines[place + 1 : place + 1] = [f"Doctor: {each.asked}", f"Patient: {each.answered}"]
        source = "\n".join(lines)
        ends = [m.end() for m in re.finditer(r"[.!?](?=\s+[A-Z]|\Z)", note)] or [len(note)]
        end = rng.choice(ends)
        lead = "  " if note[:end].endswith((".", "!", "?")) else ".  "
        note = f"{note[:end]}{lead}{each.written}{note[end:]}"
        slips += each.slips
    return case.model_copy(update={"output": note, "source": (source,)}), tuple(slips)


def slipped(
    text: PlantedText, source: str, slips: tuple[Slip, ...], rng: random.Random
) -> PlantedText | None:
    """`text` with one slip in it; None where none can be made that leaves it wrong."""
    for slip in rng.sample(slips, len(slips)):
        found = list(re.finditer(rf"(?<!\w){re.escape(slip.right)}(?!\w)", text.output, re.IGNORECASE))
        known = f"{source} {text.output}".lower()
        if len(found) != 1 or any(re.search(rf"(?<!\w){re.escape(words.lower())}(?!\w)", known) for words in (slip.wrong, slip.wrongly_said)):  # fmt: skip
            continue
        start, end = found[0].span()
        before = text.output[start:end]
        after = slip.wrong[:1].upper() + slip.wrong[1:] if before[:1].isupper() else slip.wrong
        wrong = Fault(kind=slip.kind, attribute="accurate", points=slip.points, start=start, end=start + len(after), before=before, after=after)  # fmt: skip
        return PlantedText(
            output=text.output[:start] + after + text.output[end:], faults=(*text.faults, wrong)
        )
    return None


def _wording(rng: random.Random) -> tuple[str, str, str]:
    """A question, an answer and a sentence of the note that says what both say: no more, and where it can be no less."""
    asked, answers, notes = (part.split("|") for part in rng.choice(FACTS))
    question = rng.choice(asked)
    pairs = [(a, n) for a in answers for n in notes if _slots(n) <= _slots(question + a)]
    whole = [(a, n) for a, n in pairs if _slots(a) <= _slots(n)]
    return question, *rng.choice(whole or pairs)


def _slots(text: str) -> set[str]:
    return {(name + second).lower() for name, second in _SLOT.findall(text)} - {"she", "their"}


def _values(kind: str, rng: random.Random, taken: set[str]) -> tuple[tuple[str, str], tuple[str, str]]:
    """What is said and written of one value, and of another of its kind."""
    if kind in KINDS:
        one, other = rng.sample([v for v in KINDS[kind] if not taken & set(v[0])], 2)
        return (rng.choice(one[0]), rng.choice(one[1])), (rng.choice(other[0]), rng.choice(other[1]))
    numbers = {
        "n": range(2, 10), "low": range(2, 9), "age": range(18, 95), "years": range(2, 40), "year": range(1975, 2024), "boys": range(1, 2),
        "systolic": range(104, 188), "diastolic": range(58, 104), "pounds": range(98, 290), "digit": range(1, 10), "packs": range(1, 5),
    }[kind]  # fmt: skip
    one, other = rng.choice(numbers), rng.choice(numbers)
    while other == one and len(numbers) > 1:
        other = rng.choice(numbers)
    if kind == "packs":
        names = {1: ("half a pack", "one-half pack"), 2: ("a pack", "1 pack"), 3: ("a pack and a half", "1-1/2 packs"), 4: ("two packs", "2 packs")}  # fmt: skip
        return names[one], names[other]
    wordy = kind in ("n", "years") and rng.random() < 0.4
    return (spelt(one), spelt(one) if wordy else str(one)), (
        spelt(other),
        spelt(other) if wordy else str(other),
    )


def _slip_kind(kind: str) -> str:
    return "term" if kind in KINDS and kind != "strength" else "number"


def _unlike(facts: list[Fact]) -> list[Fact]:
    """Those that share no topic and no value with an earlier one, so that none contradicts another."""
    kept: list[Fact] = []
    for each in facts:
        values = {slip.right.lower() for slip in each.slips}
        taken = {slip.right.lower() for k in kept for slip in k.slips}
        if each.topic not in {k.topic for k in kept} and not values & taken:
            kept.append(each)
    return kept


def _filled(text: str, values: dict[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match.group(1) + match.group(2)
        if name in values:
            return values[name]
        found = values[name[:1].lower() + name[1:]]
        return found[:1].upper() + found[1:]

    filled = _SLOT.sub(value, text).replace("..", ".")
    return filled[:1].upper() + filled[1:]


def spelt(number: int) -> str:
    """A number as it is said."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10 - 2] + (f" {_ONES[number % 10]}" if number % 10 else "")
    if 1900 <= number < 2000:
        rest = number % 100
        return f"nineteen {spelt(rest) if rest > 9 else f'oh {_ONES[rest]}'}"
    if number >= 2000:
        return "two thousand" + (f" {spelt(number % 100)}" if number % 100 else "")
    return f"{_ONES[number // 100]} hundred" + (f" {spelt(number % 100)}" if number % 100 else "")
