"""Sheets as people have them: each with what a person would say it holds. Read right at once, or asked about; none wrong in silence."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from click.testing import CliRunner
from workbooks import text_rows, write_workbook

from venire.cli import app
from venire.rubrics.errors import InvalidFile, VenireError
from venire.rubrics.ratings import read_ratings
from venire.rubrics.sheet import read_sheet, sheet_ratings
from venire.rubrics.sheet_marks import read_marks
from venire.rubrics.sheet_table import sheet_table

A = "The patient has had a fever since Monday."
B = "The left wrist is sprained and not broken."
C = "Blood pressure is well controlled on two drugs."


class Sheet(NamedTuple):
    """A sheet's text, and what it holds: texts judged, attributes, people (`rater-N`: not named), scores."""

    text: str | bytes
    cases: int = 3
    attributes: str = ""
    people: str = ""
    scores: int = 0
    said: str = ""
    """What the command must say of it."""
    asks: str = ""
    """For a sheet that cannot be told: what is asked about."""


def rows(header: str, *cells: str, mark: str = ",") -> str:
    """A sheet of three texts under `header`, in which TEXT stands for them."""
    lines = [
        mark.join(row.split("|")).replace("TEXT", text) for row, text in zip(cells, (A, B, C), strict=True)
    ]
    return "\n".join([mark.join(header.split("|")), *lines]) + "\n"


TWO = ("1|TEXT|4|5", "2|TEXT|3|3", "3|TEXT|2|1")
FOUR = ("1|TEXT|4|5|3|2", "2|TEXT|3|3|4|4", "3|TEXT|2|1|5|5")
ACC_CLEAR = {"attributes": "accuracy clarity", "people": "Smith Jones", "scores": 12}
SHEETS = {
    "person in brackets": Sheet(rows("id|Summary|Accuracy (Smith)|Accuracy (Jones)", *TWO), 3, "accuracy", "Smith Jones", 6, "people: Smith, Jones"),
    "person in square brackets": Sheet(rows("id|Summary|Accuracy [Smith]|Accuracy [Jones]", *TWO), 3, "accuracy", "Smith Jones", 6),
    "two attributes by two people": Sheet(rows("id|Summary|Accuracy (Smith)|Clarity (Smith)|Accuracy (Jones)|Clarity (Jones)", *FOUR), 3, **ACC_CLEAR),
    "numbered raters behind": Sheet(rows("id|summary|accurate_r1|accurate_r2", *TWO), 3, "accurate", "r1 r2", 6),
    "numbered raters, several words": Sheet(rows("id|summary|clinically_useful_rater1|clinically_useful_rater2", *TWO), 3, "clinically_useful", "rater1 rater2", 6),
    "numbered raters before": Sheet(rows("id|summary|R1 accuracy|R1 clarity|R2 accuracy|R2 clarity", *FOUR), 3, "accuracy clarity", "R1 R2", 12),
    "a count of words beside scores": Sheet(rows("id|Summary|hyp_len|adequacy_anno1|adequacy_anno2", "1|TEXT|6|4|5", "2|TEXT|4|3|3", "3|TEXT|5|2|1"), 3, "adequacy", "anno1 anno2", 6),
    "a quality nobody listed, by surname": Sheet(rows("id|Summary|Grit Patel|Grit Green", *TWO), asks="--rater Patel --rater Green"),
    "person and colon": Sheet(rows("id|summary|Smith: accurate|Jones: accurate", *TWO), 3, "accurate", "Smith Jones", 6),
    "attribute and colon": Sheet(rows("id|summary|Accuracy: Smith|Clarity: Smith|Accuracy: Jones|Clarity: Jones", *FOUR), 3, **ACC_CLEAR),
    "person behind a dash": Sheet(rows("id|summary|accuracy - Smith|clarity - Smith|accuracy - Jones|clarity - Jones", *FOUR), 3, **ACC_CLEAR),
    "person behind an underscore": Sheet(rows("id|summary|accuracy_Smith|accuracy_Jones", *TWO), 3, "accuracy", "Smith Jones", 6),
    "header of two rows, people above": Sheet(f"id,Summary,Smith,,Jones,\n,,accuracy,clarity,accuracy,clarity\n1,{A},4,5,3,2\n2,\"{B}\",3,3,4,4\n3,{C},2,1,5,5\n", 3, **ACC_CLEAR, said="the header has two rows"),
    "header of two rows, attributes above": Sheet(f"id,Summary,Accuracy,,Clarity,\n,,Smith,Jones,Smith,Jones\n1,{A},4,5,3,2\n2,\"{B}\",3,3,4,4\n3,{C},2,1,5,5\n", 3, **ACC_CLEAR),
    "scale behind the name": Sheet(rows("id|summary|Accuracy (1-5)|Clarity (1-5)", *TWO), 3, "accuracy clarity", "rater-1", 6),
    "not a scale but a quality in brackets": Sheet(rows("id|summary|Score (accuracy)|Score (clarity)", *TWO), 3, "score_accuracy score_clarity", "rater-1", 6),
    "neither part is known": Sheet(rows("id|summary|alpha - north|alpha - south|beta - north|beta - south", *FOUR), asks="which part of the column names 'alpha - north'"),
    "one n/a": Sheet(rows("id|summary|accurate", "1|TEXT|4", "2|TEXT|n/a", "3|TEXT|2"), 3, "accurate", "rater-1", 2, "line 3, 'accurate': 'n/a' is left out"),
    "one range": Sheet(rows("id|summary|accurate", "1|TEXT|4-5", "2|TEXT|3", "3|TEXT|2"), 3, "accurate", "rater-1", 2, "2 of 3 scores can be used"),
    "a question mark and a star": Sheet(rows("id|summary|accurate|clear", "1|TEXT|4|?", "2|TEXT|3*|3", "3|TEXT|2|1"), 3, "accurate clear", "rater-1", 4, "'3*' is left out"),
    "every score the same": Sheet(rows("id|summary|accuracy", "1|TEXT|5", "2|TEXT|5", "3|TEXT|5"), 3, "accuracy", "rater-1", 3),
    "half points": Sheet(rows("id|summary|accurate", "1|TEXT|4.5", "2|TEXT|3", "3|TEXT|2"), 3, "accurate", "rater-1", 3),
    "decimal commas and semicolons": Sheet(rows("id|summary|accurate", "1|TEXT|4,5", "2|TEXT|3,0", "3|TEXT|2", mark=";"), 3, "accurate", "rater-1", 3),
    "tabs": Sheet(rows("id|summary|accurate", "1|TEXT|4", "2|TEXT|3", "3|TEXT|2", mark="\t"), 3, "accurate", "rater-1", 3),
    "two texts without a name that tells": Sheet(rows("id|first|second|accurate", *(f"{n}|TEXT|TEXT|{n}" for n in (1, 2, 3))), asks="'first' or 'second'"),
    "two summaries": Sheet(rows("id|GPT summary|Claude summary|accurate", *(f"{n}|TEXT|TEXT|{n}" for n in (1, 2, 3))), asks="'GPT summary' or 'Claude summary'"),
    "answer and response": Sheet(rows("id|answer|response|accurate", *(f"{n}|TEXT|TEXT|{n}" for n in (1, 2, 3))), asks="--column output="),
    "text and comment": Sheet(rows("id|text|comment|accurate", *(f"{n}|TEXT|I read this one twice on Friday.|{n}" for n in (1, 2, 3))), 3, "accurate", "rater-1", 3),
    "German": Sheet(rows("Fall|Quelltext|Zusammenfassung|Gutachter|Genauigkeit", *(f"{n}|TEXT|TEXT|Weiß|{n}" for n in (1, 2, 3)), mark=";"), 3, "genauigkeit", "Weiß", 3),
    "French": Sheet(rows("Numéro|Texte source|Résumé|Évaluateur|Clarté", *(f"{n}|TEXT|TEXT|Léa|{n}" for n in (1, 2, 3))), 3, "clarte", "Léa", 3),
    "Spanish": Sheet(rows("Caso|Notas|Resumen|Evaluador|Claridad", *(f"{n}|TEXT|TEXT|Ana|{n}" for n in (1, 2, 3))), 3, "claridad", "Ana", 3),
    "Portuguese": Sheet(rows("Caso|Transcrição|Resumo|Avaliadora|Clareza", *(f"{n}|TEXT|TEXT|Inês|{n}" for n in (1, 2, 3))), 3, "clareza", "Inês", 3),
    "Windows-1252": Sheet(rows("id|Résumé|Évaluateur|Clarté", *(f"{n}|TEXT|Léa|{n}" for n in (1, 2, 3)), mark=";").encode("cp1252"), 3, "clarte", "Léa", 3, "Windows-1252"),
    "Latin-1 below the header": Sheet(rows("id|summary|reviewer|clear", *(f"{n}|TEXT|Müller|{n}" for n in (1, 2, 3))).encode("latin-1"), 3, "clear", "Müller", 3, "Windows-1252"),
    "UTF-16": Sheet(rows("id|summary|reviewer|clear", *(f"{n}|TEXT|Müller|{n}" for n in (1, 2, 3)), mark="\t").encode("utf-16"), 3, "clear", "Müller", 3, "UTF-16"),
    "a title above": Sheet("Ratings of summaries; ward 3\n\n" + rows("id|summary|accurate", *(f"{n}|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "rater-1", 3, "skipped, because it is above the header"),
    "title with commas and semicolons below": Sheet("Ratings, ward 3, June\n" + rows("id|summary|accurate|clear", *(f"{n}|TEXT|{n}|{n}" for n in (1, 2, 3)), mark=";"), 3, "accurate clear", "rater-1", 6),
    "empty rows and columns": Sheet(f"id,,summary,accurate,\n,,,,\n1,,{A},4,\n,,,,\n2,,\"{B}\",3,\n3,,{C},2,\n", 3, "accurate", "rater-1", 3),
    "dates beside": Sheet(rows("id|date|summary|accurate", *(f"{n}|2026-05-0{n}|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "rater-1", 3),
    "a score turned into a date": Sheet(rows("id|summary|accurate", "1|TEXT|2026-05-04", "2|TEXT|3", "3|TEXT|2"), 3, "accurate", "rater-1", 2, "'2026-05-04' is left out"),
    "an id twice with two texts": Sheet(rows("id|summary|accurate", "1|TEXT|4", "1|TEXT|3", "3|TEXT|2"), 3, "accurate", "rater-1", 3, "several texts have the id '1'; the others are read as '1-2'"),
    "an id with two texts by two people": Sheet(f"id,summary,rater,accurate\n1,{A},Ana,4\n1,{B},Ben,2\n2,{C},Ana,1\n", 3, "accurate", "Ana Ben", 3, "several texts have the id '1'; the others are read as '1-2'"),
    "an id with a text that was changed for one": Sheet(f"id,summary,rater,accurate\n1,{A},Ana,4\n1,{A} Or so.,Ben,2\n2,{C},Ana,1\n", asks="two rows with the id '1'"),
    "numbers that begin anew": Sheet(f"Project,Item,answer,rater,fluent\nx,1,{A},Ann,4\nx,2,{B},Ann,3\ny,1,{C},Ann,2\ny,2,{A}1,Ann,1\n", 4, "fluent", "Ann", 4, "Project  kept"),
    "a case rated twice by one": Sheet(f"id,summary,rater,accurate\n1,{A},Ana,4\n1,{A},Ana,2\n2,{C},Ana,1\n", asks="'Ana' rated the case '1' twice"),
    "a row pasted twice": Sheet(f"id,summary,rater,accurate\n1,{A},Ana,4\n1,{A},Ana,4\n2,{C},Ana,1\n", 2, "accurate", "Ana", 2),
    "cells merged over two raters": Sheet(f"id,summary,rater,accurate\n1,{A},Ana,4\n,,Ben,5\n2,{C},Ana,1\n,,Ben,2\n", 2, "accurate", "Ana Ben", 4, "read as further ratings of the case above"),
    "keys with a slash under Ref": Sheet(rows("Ref|summary|accurate", "C24/11|TEXT|4", "C24/12|TEXT|3", "C24/13|TEXT|2"), 3, "accurate", "rater-1", 3, "Ref       id"),
    "a comma that is not quoted": Sheet(f"id,summary,accurate\n1,Fever, cough.,4\n2,{B},3\n3,{C},2\n", asks="line 2: 4 cells under 3 columns"),
    "scores with their labels": Sheet(rows("id|summary|rater|accurate", "1|TEXT|Ann|4 - good", "2|TEXT|Ann|1: bad", "3|TEXT|Ann|5 (best)"), 3, "accurate", "Ann", 3),
    "oui and non": Sheet(rows("Code|Compte rendu|Résumé|Évaluateur|Exact", *(f"{n}|TEXT|TEXT|Léa|{word}" for n, word in ((1, "oui"), (2, "non"), (3, "Oui")))), 3, "exact", "Léa", 3),
    "yes and no of something else": Sheet(rows("id|summary|readmitted|accurate", "1|TEXT|yes|4", "2|TEXT|no|3", "3|TEXT|no|2"), asks="--column rating='readmitted' or --column kept='readmitted'"),
    "scores out of five": Sheet(rows("id|summary|rater|accurate", "1|TEXT|Ann|3/5", "2|TEXT|Ann|4/5", "3|TEXT|Ann|5/5"), 3, "accurate", "Ann", 3, "'accurate' is read as numbers: 'accurate (1-5)'"),
    "people above, under a title": Sheet(f"Ratings of ward 3\n,,Lee,,Roy,\nid,Summary,accuracy,clarity,accuracy,clarity\n1,{A},4,5,3,2\n2,\"{B}\",3,3,4,4\n3,{C},2,1,5,5\n", 3, "accuracy clarity", "Lee Roy", 12),
    "vertical bars": Sheet(rows("id;summary;accurate", "1;TEXT;4", "2;TEXT;3", "3;TEXT;2").replace(";", "|"), 3, "accurate", "rater-1", 3),
    "a row of means below": Sheet(rows("id|summary|accurate", *(f"{n}|TEXT|{n}" for n in (1, 2, 3))) + ",Mean,2.0\nSD,,1.0\n", 3, "accurate", "rater-1", 3, "line 5 is left out, because it is computed from the rows above: Mean 2.0"),
    "a second table below": Sheet(rows("id|summary|accurate", *(f"{n}|TEXT|{n}" for n in (1, 2, 3))) + "\nid,rater,comment\n1,Lee,fine\n", asks="line 6: a second table begins"),
    "one score a row": Sheet("case,summary,rater,criterion,score\n" + "".join(f"{n},{text},{who},{what},{n}\n" for n, text in ((1, A), (2, B), (3, C)) for who in ("Ann", "Bob") for what in ("accuracy", "clarity")), 3, "accuracy clarity", "Ann Bob", 12, "each row is read as one score of one attribute; the attributes are: accuracy, clarity"),
    "one final score and nothing that it is worked out of": Sheet(rows("id|summary|Final score", "1|TEXT|4", "2|TEXT|3", "3|TEXT|2"), 3, "final_score", "rater-1", 3),
    "final scores by two people": Sheet(rows("id|summary|Final accuracy (Smith)|Final accuracy (Jones)", *TWO), 3, "final_accuracy", "Smith Jones", 6),
    "one final grade in letters": Sheet(rows("id|summary|Final grade", "1|TEXT|A", "2|TEXT|B", "3|TEXT|C"), asks="'Final grade'"),
    "mean and consensus beside people": Sheet(rows("id|summary|accuracy (Smith)|accuracy (Jones)|accuracy (mean)|accuracy_consensus", *FOUR), 3, "accuracy", "Smith Jones", 6),
    "people alone": Sheet(rows("id|summary|rater-A|rater-B", *TWO), 3, "overall_quality", "rater-A rater-B", 6, "people's scores (attributes: overall quality; people: rater-A, rater-B)"),
    "person and what, by a space": Sheet(rows("id|summary|Smith score|Jones score", *TWO), asks="which part of the column names 'Smith score', 'Jones score'"),
    "numbered scores": Sheet(rows("id|summary|Score 1|Score 2", *TWO), asks="which part of the column names 'Score 1', 'Score 2'"),
    "an index without a name": Sheet(rows("|summary|accurate", *(f"{n}|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "rater-1", 3),
    "visits beside": Sheet(rows("id|visit|summary|accurate", "1|1|TEXT|4", "2|2|TEXT|3", "3|1|TEXT|2"), 3, "accurate", "rater-1", 3),
    "patients with leading zeros": Sheet(rows("Patient ID|Summary|Accuracy", *(f"00{n}|TEXT|{n}" for n in (1, 2, 3))), 3, "accuracy", "rater-1", 3, "Patient ID  id"),
    "two systems under one id": Sheet(f"id,model,output,rater,accurate\n1,a,{A},Ann,4\n1,b,{B},Ann,3\n2,a,{C},Ann,2\n", 3, "accurate", "Ann", 3, "several texts share an id but differ in 'model'"),
    "true and false": Sheet(rows("id|summary|accurate", "1|TEXT|TRUE", "2|TEXT|FALSE", "3|TEXT|TRUE"), 3, "accurate", "rater-1", 3),
    "k.A. more than once": Sheet(rows("Nr|Zusammenfassung|Genauigkeit", "1|TEXT|k.A.", "2|TEXT|3", "3|TEXT|k.A."), 3, "genauigkeit", "rater-1", 1, "1 of 3 scores can be used"),
    "percentages": Sheet(rows("id|summary|accuracy", "1|TEXT|80 %", "2|TEXT|75 %", "3|TEXT|20 %"), 3, "accuracy", "rater-1", 3, "from 0 to"),
    "a slider": Sheet(rows("id|summary|score", "1|TEXT|80", "2|TEXT|7", "3|TEXT|55"), 3, "score", "rater-1", 3, "from 0 to"),
    "fractions": Sheet(rows("id|summary|score", "1|TEXT|0.85", "2|TEXT|0.4", "3|TEXT|1"), 3, "score", "rater-1", 3, "from 0 to"),
    "letters and their summaries": Sheet(rows("id|Letter|AI summary|accuracy", *(f"{n}|A letter that came with the post.|TEXT|{n}" for n in (1, 2, 3))), 3, "accuracy", "rater-1", 3, "Letter      source"),
    "notes of transcripts": Sheet(rows("note_id|transcript|note|accurate", *(f"{n}|What was said in the room.|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "rater-1", 3, "transcript  source"),
    "conversations alone": Sheet(rows("id|conversation|empathy", *(f"{n}|TEXT|{n}" for n in (1, 2, 3))), 3, "empathy", "rater-1", 3),
    "notes behind the scores": Sheet(rows("id|summary|accurate|notes", *(f"{n}|TEXT|{n}|This one took me some time." for n in (1, 2, 3))), 3, "accurate", "rater-1", 3, "notes     kept"),
    "a reviewer's notes": Sheet(rows("id|reviewer notes|summary|accurate", *(f"{n}|This one took me some time.|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "rater-1", 3, "reviewer notes  kept"),
    "a text without a name that tells": Sheet(rows("id|Bescheid|summary|accurate", *(f"{n}|Something long that was written by an office.|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "rater-1", 3, "'Bescheid' stands before the judged text and is taken as its source"),
    "a text without a name that tells, behind": Sheet(rows("id|summary|Bescheid|accurate", *(f"{n}|TEXT|Something long that was written by an office.|{n}" for n in (1, 2, 3))), asks="'Bescheid' could be the source"),
    "a letter and another version": Sheet(rows("id|letter|plain version|clear", *(f"{n}|TEXT|TEXT|{n}" for n in (1, 2, 3))), 3, "clear", "rater-1", 3, "letter         source"),
    "two letters": Sheet(rows("id|first letter|second letter|clear", *(f"{n}|TEXT|TEXT|{n}" for n in (1, 2, 3))), asks="'first letter' or 'second letter'"),
    "answers and their references": Sheet(rows("id|reference answer|model answer|accurate", *(f"{n}|What a teacher would have said.|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "rater-1", 3, "reference answer  reference"),
    "ids that recur": Sheet(f"rating_no,doc_id,summary,rater,accurate\n1,d1,{A},Ann,4\n2,d1,{A},Bob,5\n3,d2,{C},Ann,1\n4,d2,{C},Bob,2\n", 2, "accurate", "Ann Bob", 4, "doc_id     id"),
    "the status of a form": Sheet(rows("record_id|ai_summary|accuracy|review_complete", "1|TEXT|4|2", "2|TEXT|3|0", "3|TEXT|5|2"), 3, "accuracy", "rater-1", 3, "REDCap's status of a form"),
    "a survey's three headers": Sheet(f'ResponseId,UserLanguage,summary,accuracy\nResponse ID,User Language,summary,How accurate?\n"{{""ImportId"":""_id""}}","{{""ImportId"":""l""}}","{{""ImportId"":""s""}}","{{""ImportId"":""QID1""}}"\nR_1,EN,{A},4\nR_2,EN,{B},3\nR_3,DE,{C},5\n', 3, "accuracy", "rater-1", 3, "Qualtrics"),
    "a survey's questions under its header": Sheet(f"id,summary,accuracy,clarity\nItem,The summary,How accurate is it?,How clear is it?\n1,{A},4,1\n2,{B},3,5\n3,{C},1,2\n", 3, "accuracy clarity", "rater-1", 6, "line 2 is skipped, because it has words where all other lines have numbers"),
    "the scale under the header": Sheet(f"id,summary,accuracy,clarity\n,,(1 to 5),(1 to 5)\n1,{A},4,1\n2,{B},3,5\n3,{C},1,2\n", 3, "accuracy clarity", "rater-1", 6, "line 2 is skipped"),
    "a first case that nobody could score": Sheet(f"id,summary,accuracy,clarity\n1,{A},unsure,unsure\n2,{B},3,5\n3,{C},1,2\n", 3, "accuracy clarity", "rater-1", 4, "'unsure' is left out"),
    "a running number, and notes behind the scores": Sheet(rows("#|question|answer|accuracy|notes", "1|What did she say?|TEXT|4|", "2|What did he say?|TEXT|3|good example", "3|What then?|TEXT|1|"), 3, "accuracy", "rater-1", 3, "notes     kept"),
    "tabs, and cells of several lines": Sheet('id\tcode\treview\tuseful\n' + "".join(f'{n}\t"def f(x, y):\n    z = x, y\n    return z, x"\t{A}{n}\t{n}\n' for n in (1, 2, 3)), 3, "useful", "rater-1", 3),
    "talks of several lines, and answers": Sheet("id,conversation,summary,polite,resolved\n" + "".join(f'{n},"User: What now?\nAgent: Wait.\nUser: How long?",{A}{n},{"no" if n % 2 else "yes"},{"no" if n else "yes"}\n' for n in range(4)), 4, "polite resolved", "rater-1", 8),
    "a nine among scores up to five": Sheet("id,summary,accuracy\n" + "".join(f"{n},{A}{n},{9 if n == 4 else 1 + n % 5}\n" for n in range(12)), asks="line 6, column 'accuracy': 9 is far from the other scores, which are 1 to 5"),
    "a zero among scores from one": Sheet("id,summary,accuracy\n" + "".join(f"{n},{A}{n},{0 if n == 4 else 1 + n % 5}\n" for n in range(12)), asks="0 is far from"),
    "no five": Sheet(rows("id|summary|accuracy", "1|TEXT|4", "2|TEXT|3", "3|TEXT|2"), 3, "accuracy", "rater-1", 3, "no score in 'accuracy' is above 4"),
    "a scale behind the name that some scores exceed": Sheet(rows("id|summary|Harm (0-3)", "1|TEXT|4", "2|TEXT|3", "3|TEXT|2"), 3, "harm", "rater-1", 2, "outside the scale from 0 to 3"),
    "sources in one language, outputs in another": Sheet(rows("Segment ID|Source (EN)|MT output (DE)|Adequacy", *(f"s{n}|What was written first.|TEXT|{n}" for n in (1, 2, 3))), 3, "adequacy", "rater-1", 3, "Source (EN)     source"),
    "compounds": Sheet(rows("Nr|Arztbrief|KI-Zusammenfassung|Richtigkeit", *(f"{n}|Was im Brief der Klinik stand.|TEXT|{n}" for n in (1, 2, 3))), 3, "richtigkeit", "rater-1", 3, "Arztbrief           source"),
    "the first part tells": Sheet(rows("Nr|Document d'origine|Résumé de l'article|Exactitude", *(f"{n}|Ce que la clinique avait écrit.|TEXT|{n}" for n in (1, 2, 3))), 3, "exactitude", "rater-1", 3, "Document d'origine   source"),
    "two systems under one question": Sheet(f"question_id,model,answer,helpful\n1,a,{A},4\n1,b,{B},3\n2,a,{C},2\n", 3, "helpful", "rater-1", 3, "several texts share an id but differ in 'model'"),
    "a first column of short names": Sheet(rows("poem|text|accurate", *(f"p{n}|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "rater-1", 3, "poem      id"),
    "a time of day beside": Sheet(rows("Timestamp|id|summary|accurate", *(f"2025/05/0{n} 4:00:11 PM GMT+2|{n}|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "rater-1", 3),
    "a form's user names": Sheet(rows("Username|id|summary|accurate", *(f"u@a.org|{n}|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "u@a.org", 3),
    "initials of raters": Sheet(rows("id|rater_initials|summary|accurate", *(f"{n}|MK|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "MK", 3),
    "what a program measured, and ranks": Sheet(rows("id|summary|accuracy|BLEU|BERTScore|rank", "1|TEXT|4|0.5|0.8|1", "2|TEXT|3|0.6|0.9|2", "3|TEXT|2|0.7|0.7|3"), 3, "accuracy", "rater-1", 3),
    "what is said of raters": Sheet("id,summary,rater,seniority,accuracy\n" + "".join(f"{n},{A}{n},{who},{level},{n % 5 + 1}\n" for n in range(4) for who, level in (("Ann", 3), ("Bob", 7))), cases=4, attributes="accuracy", people="Ann Bob", scores=8),
    "a word before every attribute": Sheet(rows("id|summary|Answer.fluency|Answer.relevance", *TWO), 3, "answer_fluency answer_relevance", "rater-1", 6),
    "an attribute that is not known, and people": Sheet(rows("id|summary|gloss: Ana|gloss: Rui", *TWO), asks="which part of the column names 'gloss: Ana', 'gloss: Rui'"),
    "raters of both sexes": Sheet(rows("ID|Resumo|Correção|Avaliador(a)", *(f"{n}|TEXT|{n}|Lu" for n in (1, 2, 3))), 3, "correcao", "Lu", 3),
    "German compounds": Sheet(rows("Nr.|Patientenfrage|Chatbot-Antwort|Korrektheit", *(f"{n}|Was hilft gegen ein Fieber am Abend?|TEXT|{n}" for n in (1, 2, 3))), 3, "korrektheit", "rater-1", 3, "Patientenfrage   question"),
    "ids of visits": Sheet(rows("patient_id|visit_id|ai_summary|accuracy", "P1|V1|TEXT|4", "P1|V2|TEXT|3", "P2|V3|TEXT|2"), 3, "accuracy", "rater-1", 3, "visit_id    id"),
    "thousands beside": Sheet(rows("id;summary;quality;views", "1;TEXT;4,0;1,001", "2;TEXT;3,5;1,020", "3;TEXT;2,0;1,300").replace("|", ";"), 3, "quality", "rater-1", 3),
    "nouns alone": Sheet(rows("id|summary|Warmth|Playfulness", *TWO), 3, "warmth playfulness", "rater-1", 6),
    "names alone": Sheet(rows("id|summary|Jane|Tom", *TWO), asks="are 'Jane', 'Tom' people who rated, or attributes?"),
    "what and person, by a space": Sheet(rows("id|summary|Accuracy Smith|Accuracy Jones", *TWO), 3, "accuracy", "Smith Jones", 6),
    "one attribute without a name, and people": Sheet(rows("id|summary|Note Dupont /20|Note Roy /20", "1|TEXT|14|15", "2|TEXT|3|3", "3|TEXT|20|11"), 3, "note", "Dupont Roy", 6),
    "an attribute and its parts": Sheet(rows("id|summary|Score Fluency|Score Brevity", *TWO), 3, "score_fluency score_brevity", "rater-1", 6),
    "what and doctor, by a space": Sheet(rows("id|summary|Accuracy Dr Smith|Accuracy Dr Jones", *TWO), 3, "accuracy", "Dr_Smith Dr_Jones", 6),
    "below zero": Sheet(rows("id|summary|accuracy", "1|TEXT|-2", "2|TEXT|0", "3|TEXT|-1"), asks="not as numbers from 0 to 10"),
    "crosses under levels": Sheet(rows("id|summary|1|2|3", "1|TEXT|x||", "2|TEXT||x|", "3|TEXT|||x"), asks="'1' seems to hold scores"),
    "levels named behind": Sheet(rows("id|summary|Clarity (1 = poor; 5 = good)", "1|TEXT|4", "2|TEXT|3", "3|TEXT|2").replace(";", " /"), 3, "clarity", "rater-1", 3),
    "reviewers' names": Sheet(rows("record_id|note_text|reviewer_name|safety", *(f"{n}|TEXT|Lee|{n}" for n in (1, 2, 3))), 3, "safety", "Lee", 3),
    "names in small letters": Sheet(rows("id|summary|anna|bob", *TWO), asks="are 'anna', 'bob' people who rated, or attributes?"),
    "names in small letters behind": Sheet(rows("id|summary|accuracy_anna|accuracy_bob", *TWO), 3, "accuracy", "anna bob", 6),
    "people and what, each twice, by a space": Sheet(rows("id|summary|smith accuracy|smith clarity|jones accuracy|jones clarity", *FOUR), 3, "accuracy clarity", "smith jones", 12),
    "whose": Sheet(rows("id|summary|Anna's score|Bob's score", *TWO), 3, "score", "Anna Bob", 6),
    "by whom": Sheet(rows("id|summary|Score by Anna|Score by Bob", *TWO), 3, "score", "Anna Bob", 6),
    "texts that begin with numbers": Sheet(rows("id|ward_note|summary|accurate", *(f"{n}|7{n}-year-old with a cough since Monday and no fever.|TEXT|{n}" for n in (1, 2, 3))), 3, "accurate", "rater-1", 3, "ward_note  source"),
    "codes of programs": Sheet(rows("PR|Code|Review by the bot|useful", *(f"#{n}|def add(a): return a + {n} # one|TEXT|{n}" for n in (1, 2, 3))), 3, "useful", "rater-1", 3, "Code               source"),
    "questions by their marks": Sheet(rows("nr|anna asks|bot says|helpful", *(f"{n}|What should I do with a fever?|TEXT|{n}" for n in (1, 2, 3))), 3, "helpful", "rater-1", 3, "anna asks  question"),
    "a record number for each text": Sheet(rows("MRN|Chart|Summary|Accuracy", *(f"77{n}|What the chart said on that day.|TEXT|{n}" for n in (1, 2, 3))), 3, "accuracy", "rater-1", 3, "MRN       id"),
    "a record number for two texts": Sheet(rows("MRN|Chart|Summary|Accuracy", *(f"77{n // 2}|What the chart said on that day.|TEXT|{n}" for n in (1, 2, 3))), 3, "accuracy", "rater-1", 3, "MRN       group"),
    "who rated is told by the rows": Sheet("pt,summary,signed,accurate\n" + "".join(f"{n},{text},{who},{n}\n" for n, text in ((1, A), (2, B), (3, C)) for who in ("NB", "TK")), 3, "accurate", "NB TK", 6),
    "who rated is perhaps told between text and scores": Sheet(rows("id|summary|Kollegium|accurate", "1|TEXT|Ost|4", "2|TEXT|West|3", "3|TEXT|Ost|2"), asks="'Kollegium' may name the people who rated"),
    "one score a row, in other words": Sheet("nr,summary,Linguist,Category,Points\n" + "".join(f"{n},{text},{who},{what},{n}\n" for n, text in ((1, A), (2, B), (3, C)) for who in ("Ivo", "Mia") for what in ("Grammar", "Style")), 3, "grammar style", "Ivo Mia", 12),
    "a scale told above": Sheet("Marks (1 = weak / 4 = strong)\n" + rows("id|summary|style", *(f"{n}|TEXT|{n}" for n in (1, 2, 3))), 3, "style", "rater-1", 3, "scale is 1 to 4"),
    "a scale told below": Sheet(rows("id|summary|style", *(f"{n}|TEXT|{n}" for n in (1, 2, 3))) + "\nScale: 1-6\n", 3, "style", "rater-1", 3, "style (1-6)  rating"),
    "many scores and no five": Sheet("id,summary,accuracy\n" + "".join(f"{n},{A}{n},{1 + n % 3 + (n == 2)}\n" for n in range(24)), asks="--scale 1-4 or --scale 1-5"),
    "many sixes and no seven": Sheet("id,summary,accuracy\n" + "".join(f"{n},{A}{n},{1 + n % 6}\n" for n in range(30)), 30, "accuracy", "rater-1", 30, "accuracy (1-6)  rating"),
    "a department beside raters in the header": Sheet(rows("id|summary|Department|accuracy (ann)|accuracy (bob)", "1|TEXT|Ost|4|5", "2|TEXT|West|3|3", "3|TEXT|Ost|2|1"), 3, "accuracy", "ann bob", 6),
    "no five but in another column": Sheet("id,summary,accuracy,clarity\n" + "".join(f"{n},{A}{n},{1 + n % 4},{1 + n % 5}\n" for n in range(24)), 24, "accuracy clarity", "rater-1", 48),
    "pass and fail": Sheet(rows("id|summary|verdict", "1|TEXT|pass", "2|TEXT|fail", "3|TEXT|pass"), 3, "verdict", "rater-1", 3, "from 0 to 1"),
    "words of a scale": Sheet(rows("id|summary|opinion", "1|TEXT|good", "2|TEXT|poor", "3|TEXT|very good"), 3, "opinion", "rater-1", 3, "(1 = poor, 2 = ok, 3 = good, 4 = very good)"),
    "words of agreement by two people": Sheet(rows("id|summary|Clear (Ann)|Clear (Bob)", "1|TEXT|agree|disagree", "2|TEXT|strongly agree|agree", "3|TEXT|neutral|n/a"), 3, "clear", "Ann Bob", 5, "3 = neutral"),
    "words in German": Sheet(rows("id|Zusammenfassung|Klar", "1|TEXT|trifft zu", "2|TEXT|trifft eher nicht zu", "3|TEXT|teils/teils"), 3, "klar", "rater-1", 3, "2 = trifft eher nicht zu"),
    "amounts of a quality": Sheet(rows("id|summary|Accuracy|Priority", "1|TEXT|low|high", "2|TEXT|high|low", "3|TEXT|medium|low"), 3, "accuracy", "rater-1", 3, "Priority "),
    "on both sides of zero": Sheet(rows("id|summary|accuracy|tone", "1|TEXT|-2|0", "2|TEXT|1|1", "3|TEXT|2|2"), 3, "accuracy tone", "rater-1", 6, "from -2"),
    "people and qualities that few words tell": Sheet(rows("id|summary|Hedda Faithful|Hedda Inviting|Joao Faithful|Joao Inviting", *FOUR), 3, "faithful inviting", "Hedda Joao", 12),
    "people above qualities that only their endings tell": Sheet(f"id,Summary,Ruth,,Emeka,\n,,Fair,Informative,Fair,Informative\n1,{A},4,5,3,2\n2,{B},3,3,4,4\n3,{C},2,1,5,5\n", 3, "fair informative", "Ruth Emeka", 12),
    "short for numbered raters": Sheet(rows("id|resposta|cortesia_av1|cortesia_av2", *TWO), 3, "cortesia", "av1 av2", 6),
    "numbered by a letter that tells nothing": Sheet(rows("id|summary|X1|X2", *TWO), asks="which part of the column names 'X1', 'X2'"),
    "parted by a slash": Sheet(rows("id|summary|Accuracy/Lee|Clarity/Lee|Accuracy/Roy|Clarity/Roy", *FOUR), 3, "accuracy clarity", "Lee Roy", 12),
    "parted by a capital": Sheet(rows("id|summary|accuracyLee|accuracyRoy", *TWO), 3, "accuracy", "Lee Roy", 6),
    "a criterion a row and a person a column": Sheet("poem,Criterion,Tomasz,Aisha\n" + "".join(f"{text},{what},{n},{n}\n" for n, text in ((1, A), (2, B), (3, C)) for what in ("Imagery", "Rhythm")), 3, "imagery rhythm", "Tomasz Aisha", 12, "each column of scores is read as one rater's: Tomasz, Aisha"),
    "rooms behind the scores": Sheet(rows("id|label|clear|Room", "1|TEXT|4|A", "2|TEXT|3|B", "3|TEXT|2|A"), 3, "clear", "rater-1", 3),
    "short originals": Sheet("Original e-mail,Rewritten e-mail,clear\n" + "".join(f"Call me by {n}.,{text}{n},{n % 5 + 1}\n" for n, text in enumerate((A, B, C, A, B))), 5, "clear", "rater-1", 5, "Original e-mail   source"),
    "what a customer commented": Sheet(rows("id|comment of the customer|reply|polite", *(f"{n}|The parcel came on a Sunday again.|TEXT|{n}" for n in (1, 2, 3))), 3, "polite", "rater-1", 3, "question"),
    "scales by name above": Sheet("clear: 1 (not at all) to 7 (very)\ncorrect: 0 = no / 1 = yes\n" + rows("id|summary|clear|correct", "1|TEXT|4|1", "2|TEXT|3|0", "3|TEXT|2|1"), 3, "clear correct", "rater-1", 6, "clear (1-7)"),
    "a checklist": Sheet(rows("id|summary|Dose named|Visit named", "1|TEXT|yes|no", "2|TEXT|no|yes", "3|TEXT|yes|yes"), 3, "dose_named visit_named", "rater-1", 6),
    "yes and no in which raters differ": Sheet(f"id,summary,rater,sent\n1,{A},Ann,yes\n1,{A},Bob,no\n2,{C},Ann,no\n2,{C},Bob,no\n", 2, "sent", "Ann Bob", 4),
    "an original and what was made of it": Sheet(rows("id|Report (original)|Letter to patient|clear", *(f"{n}|What the clinic had written down.|TEXT|{n}" for n in (1, 2, 3))), 3, "clear", "rater-1", 3, "Report (original)  source"),
    "means at the side": Sheet(f"id,summary,x_r1,x_r2,,Rater,Mean\n1,{A},4,5,,r1,3\n2,{B},3,3,,,\n3,{C},2,1,,,\n", 3, "x", "r1 r2", 6, "what stands to the right of an empty column is left out"),
    "parts that are words of a scale": Sheet(f"id,Summary,Lee,,Roy,\n,,Clear,Correct,Clear,Correct\n1,{A},4,5,3,2\n2,{B},3,3,4,4\n3,{C},2,1,5,5\n", 3, "clear correct", "Lee Roy", 12),
    "asked with yes and no": Sheet(rows("id|summary|Would you send it?", "1|TEXT|yes", "2|TEXT|no", "3|TEXT|yes"), 3, "would_you_send_it", "rater-1", 3),
    "a level before the text": Sheet(rows("id|level|summary|accurate", "1|2|TEXT|4", "2|3|TEXT|3", "3|1|TEXT|2"), 3, "accurate", "rater-1", 3),
    "counts below": Sheet(rows("id|summary|accurate", *(f"{n}|TEXT|{n}" for n in (1, 2, 3))) + "Average,,2.0\nn,,10\n", 3, "accurate", "rater-1", 3, "line 6 is left out"),
    "a note below": Sheet(rows("id|summary|accurate", *(f"{n}|TEXT|{n}" for n in (1, 2, 3))) + "\n* two were lost,,\n", 3, "accurate", "rater-1", 3, "skipped, because it is below the table"),
    "a date beside a title": Sheet("Date:,June\n" + rows("id|summary|accurate|clear", *(f"{n}|TEXT|{n}|{n}" for n in (1, 2, 3))), 3, "accurate clear", "rater-1", 6),
    "thoughts behind the scores": Sheet(rows("id|summary|accurate|Anything else", *(f"{n}|TEXT|{n}|This one took me some time." for n in (1, 2, 3))), 3, "accurate", "rater-1", 3),
    "people above each of their columns": Sheet(f",,Lee,Lee,Roy,Roy\nid,Summary,accuracy,clarity,accuracy,clarity\n1,{A},4,5,3,2\n2,\"{B}\",3,3,4,4\n3,{C},2,1,5,5\n", 3, "accuracy clarity", "Lee Roy", 12),
    "initials behind": Sheet(rows("id|summary|Accuracy A.K.|Accuracy L.M.", *TWO), 3, "accuracy", "A.K. L.M.", 6),
    "a note that several texts were made from": Sheet(f"id,model,visit note,text,accurate\n1,a,What was said.,{A},4\n2,b,What was said.,{B},3\n3,a,Another visit of the same patient.,{C},2\n", 3, "accurate", "rater-1", 3, "visit note  source"),
    "remarks that name qualities": Sheet(f"id,summary,accurate (Lee),accurate (Roy),clear (Lee),clear (Roy),Remark\n1,{A},4,5,3,2,unclear\n2,{A},3,3,4,4,\n3,{C},2,1,5,5,unclear\n4,{B},2,2,5,4,\n5,{C}5,3,2,5,4,clear\n6,{B}6,2,2,5,4,\n", 6, "accurate clear", "Lee Roy", 24, "Remark    kept"),
    "two texts of which one recurs once": Sheet("id,Report,Letter,clear\n" + "".join(f"{n},{text} {n},{letter},{n}\n" for n, text, letter in ((1, A, B), (2, B, C), (3, C, A), (4, A, A))), asks="'Report' or 'Letter'"),
    "messages of two writers": Sheet(rows("id|message_bot|message_agent|tone", *(f"{n}|TEXT|What the other one of the two had to write {n}.|{n}" for n in (1, 2, 3))), asks="'message_agent' could be the source"),
    "two people on two scales": Sheet(rows("id|summary|overall_vera|overall_tim", "1|TEXT|4|80", "2|TEXT|3|55", "3|TEXT|2|20"), asks="vera's go up to 4 and tim's go up to 80"),
    "two people on two scales, a row each": Sheet("id,summary,rater,overall\n" + "".join(f"{n},{text} {n},{who},{score * n}\n" for who, score in (("Vera", 1), ("Tim", 20)) for n, text in enumerate((A, B, C), 1)), asks="different scales"),
    "scores of which every third is none": Sheet("id,summary,meets_request,clear\n" + "".join(f"{n},{A} {n},{cell},{n}\n" for n, cell in enumerate(("5", "1", "5*", "4", "tbd"), 1)), asks="'meets_request' seems to hold scores"),
    "keys under a name of their own, one of them twice": Sheet("Processo,summary,clear\n" + "".join(f"PR-{n - (n == 7)},{A}{n},{1 + n % 5}\n" for n in range(12)), 12, "clear", "rater-1", 12, "several texts have the id 'PR-6'; the others are read as 'PR-6-2'"),
    "a number of any size behind the text": Sheet("id,summary,clear,comorbidities\n" + "".join(f"{n},{A}{n},{1 + n % 5},{count}\n" for n, count in enumerate((3, 5, 150, 4, 220, 9, 2), 1)), 7, "clear", "rater-1", 7, "comorbidities  kept"),
    "one attribute on two stated scales": Sheet(rows("id|summary|rater|tone (1-5)|tone (0-10)", "1|TEXT|Vera|4|", "2|TEXT|Tim||8", "3|TEXT|Tim||5"), asks="scores of 'tone' are on two scales"),
    "an attribute of three words before a first name": Sheet(rows("id|summary|Understandable Eva|Understandable Paul|True to abstract Eva|True to abstract Paul", "1|TEXT|1|2|3|4", "2|TEXT|2|3|4|5", "3|TEXT|5|1|2|3"), 3, "understandable true_to_abstract", "Eva Paul", 12),
    "attributes nobody listed before first names": Sheet(rows("id|summary|Warmth Eva|Warmth Paul|Grit Eva|Grit Paul", "1|TEXT|1|2|3|4", "2|TEXT|2|3|4|5", "3|TEXT|5|1|2|3"), asks="Grit Paul"),
    "a legal text and the plain one": Sheet(rows("id|Legal text|Plain text|simple", *(f"{n}|What the lawyers had written down {n}.|TEXT|{n}" for n in (1, 2, 3))), 3, "simple", "rater-1", 3, "Legal text  source"),
    "notes and what parents were told": Sheet(rows("id|Observation notes|Note to parents|warm", *(f"{n}|What the nursery had written down {n}.|TEXT|{n}" for n in (1, 2, 3))), 3, "warm", "rater-1", 3, "Observation notes  source"),
    "a report and the patient's letter": Sheet(rows("id|Report|Letter to patient|simple", *(f"{n}|What the doctors had written down {n}.|TEXT|{n}" for n in (1, 2, 3))), 3, "simple", "rater-1", 3, "Report             source"),
    "two texts without telling names, one much longer": Sheet(rows("id|Abstract|Post|accurate", *(f"{n}|What had been found out in {n} years of work by many people is told here at some length and then it goes on.|TEXT|{n}" for n in (1, 2, 3))), asks="'Abstract' or 'Post'"),
    "languages of one letter": Sheet(rows("id|language|summary|clear", "1|R|TEXT|4", "2|C|TEXT|3", "3|Python|TEXT|1"), 3, "clear", "rater-1", 3, "language  kept"),
    "ids of texts that recur": Sheet("Study,AI summary,accurate_r1,accurate_r2\n" + "".join(f"R00{n},{text},{n},{n}\n" for n, text in enumerate((A, B, A, C), 1)), 4, "accurate", "r1 r2", 8, "Study       id"),
    "short names of a translator": Sheet(rows("src|hyp|ref|score_r1|score_r2", *(f"What was written first {n}.|TEXT|What a person had written {n}.|{n}|{n}" for n in (1, 2, 3))), 3, "score", "r1 r2", 6, "ref     reference"),
    "names behind the scores": Sheet(rows("id|summary|accurate|Team", "1|TEXT|4|Ruth", "2|TEXT|3|Omar", "3|TEXT|2|Ruth"), asks="'Team' may name the people who rated"),
    "stars": Sheet(rows("id|summary|opinion", "1|TEXT|★★★", "2|TEXT|★", "3|TEXT|★★"), 3, "opinion", "rater-1", 3, "opinion (1-5)"),
    "school grades": Sheet(rows("id|summary|mark", "1|TEXT|A", "2|TEXT|B+", "3|TEXT|C"), asks="'mark' seems to hold scores"),
    "source and target": Sheet(rows("seg|Source (EN)|Target (DE)|Rater 1|Rater 2", *(f"s{n}|What was written first.|TEXT|{n}|{n}" for n in (1, 2, 3))), 3, "overall_quality", "Rater_1 Rater_2", 6, "Source (EN)      source"),
    "a name like a quality": Sheet(rows("id|summary|Exactitude - Claire|Exactitude - Hugo|Clarté - Claire|Clarté - Hugo", *FOUR), 3, "exactitude clarte", "Claire Hugo", 12),
    "ids of answers to a survey": Sheet("Response ID,Participant,text,like\n" + "".join(f"R{n}{who},{who},{text},{n}\n" for n, text in ((1, A), (2, B), (3, C)) for who in ("p1", "p2")), 3, "like", "p1 p2", 6),
    "what a model explained": Sheet(rows("nr|Code|Explanation by the model|clear", *(f"{n}|def add(a): return a + {n} # one|TEXT|{n}" for n in (1, 2, 3))), 3, "clear", "rater-1", 3),
    "out of ten": Sheet(rows("id|summary|Accuracy /10|Clarity out of 10", *TWO), 3, "accuracy clarity", "rater-1", 6),
    "systems told by the rows": Sheet(f"item,kind,answer,fluent\n1,x,{A},4\n1,y,{B},3\n2,x,{C},2\n2,y,{A} {B},5\n".replace(f"{A} {B}", C + "0"), 4, "fluent", "rater-1", 4, "several texts share an id but differ in 'kind'"),
    "percent behind the name": Sheet(rows("id|summary|Mark (%)", "1|TEXT|80", "2|TEXT|75", "3|TEXT|20"), 3, "mark", "rater-1", 3),
    "a slider without a name that tells": Sheet(rows("id|summary|DA", "1|TEXT|80", "2|TEXT|75", "3|TEXT|20"), asks="'DA' seems to hold scores"),
    "a draft and what became of it": Sheet(rows("id|AI draft|Agent version|Quality", *(f"{n}|TEXT|What the agent sent in the end with the day and the way.|{n}" for n in (1, 2, 3))), asks="--column output='Agent version'"),
    "a doctor's and a machine's": Sheet(rows("id|transcript|doctor_note|ai_note|quality", *(f"{n}|What was said in the room.|What the doctor wrote down in the evening of that day.|TEXT|{n}" for n in (1, 2, 3))), asks="'doctor_note' could be the source"),
    "a person's and a machine's": Sheet(rows("id|transcript|human_note|ai_note|quality", *(f"{n}|What was said in the room.|What a person wrote down.|TEXT|{n}" for n in (1, 2, 3))), 3, "quality", "rater-1", 3, "human_note  reference"),
    "addresses of raters": Sheet(rows("Stempel|Adresse der Person|Fall|Zusammenfassung|Wie klar?", "1.5.|a@x.org|1|TEXT|4", "2.5.|b@x.org|2|TEXT|3", "3.5.|a@x.org|3|TEXT|5"), 3, "wie_klar", "a@x.org b@x.org", 3),
    "raters by underscore": Sheet(rows("id|user_input|bot_response|Rater_A|Rater_B", *(f"{n}|What to do with a fever?|TEXT|{n}|{n}" for n in (1, 2, 5))), 3, "overall_quality", "Rater_A Rater_B", 6, "user_input       question"),
    "texts that are counted": Sheet("Segment,summary,rater,accurate\n" + "".join(f"{n},{text},{who},{n}\n" for n, text in ((1, A), (2, B), (4, C)) for who in ("Ann", "Bob")), 3, "accurate", "Ann Bob", 6, "Segment   id"),
    "cells merged, names that no word tells": Sheet(f"Dossier,summary,rater,accurate\nD1,{A},Ana,4\n,,Ben,5\nD2,{C},Ana,1\n,,Ben,2\n", 2, "accurate", "Ana Ben", 4, "Dossier   id"),
    "a judged comment, two people": Sheet(rows("pr|code|review_comment|useful_r1|useful_r2", *(f"p{n}|def add(a): return a + {n} # one|TEXT|{n}|{n}" for n in (1, 2, 3))), 3, "useful", "r1 r2", 6, "code            source"),
    "a judged comment, rows by person": Sheet("nr,code,review_comment,rater,useful\n" + "".join(f"{n},def add(a): return a + {n} # one,{text},{who},{n}\n" for n, text in ((1, A), (2, B), (3, C)) for who in ("Ann", "Bob")), 3, "useful", "Ann Bob", 6),
    "a comment that may be judged": Sheet(rows("nr|code|comment|useful", *(f"{n}|def add(a): return a + {n} # one|TEXT|{n}" for n in (1, 2, 3))), asks="'code' or 'comment'"),
    "an explanation for somebody": Sheet(rows("nr|Radiology report|Explanation for patient|Correct (1-5)", *(f"{n}|CT of the head and no haemorrhage on day {n}.|TEXT|{n}" for n in (1, 2, 3))), 3, "correct", "rater-1", 3, "Radiology report     source"),
    "an explanation in every row before the scores": Sheet(rows("nr|Report|Explanation|Correct", *(f"{n}|CT of the head and no haemorrhage on day {n}.|TEXT|{n}" for n in (1, 2, 3))), asks="'Report' or 'Explanation'"),
    "clauses by number, and a price": Sheet("Clause,Clause text,Plain version,Accuracy,Price\n" + "".join(f"{n},What was agreed under number {n}.,{A}{n},{n % 5 + 1},{n}4.9\n" for n in (1, 3, 2, 5, 4, 7)), 6, "accuracy", "rater-1", 6, "Clause         id"),
    "initials behind several words": Sheet(rows("id|generated_line|in_character_LM|in_character_TK|funny_LM|funny_TK", *FOUR), 3, "in_character funny", "LM TK", 12),
    "points beyond a hundred by two people": Sheet(rows("nr|Tema proposto|Redação do aluno|Competência 1 (Corretor A)|Competência 1 (Corretor B)", *(f"{n}|Os desafios da mobilidade urbana|TEXT|1{n}0|{n}60" for n in (1, 2, 3))), asks="'Competência 1 (Corretor A)' seems to hold scores"),
    "letters to two people": Sheet(rows("nr|Letter to GP|Letter to patient|Clear", *(f"{n}|Thank you for referring patient number {n} to our clinic.|TEXT|{n}" for n in (1, 2, 3))), asks="'Letter to GP' could be the source"),
    "a pharmacist": Sheet(rows("Patient ID|Question of a patient|answer|Safe|Pharmacist", *(f"{n}|What does it mean to take it?|TEXT|{n}|L. Oye" for n in (1, 2, 3))), 3, "safe", "L._Oye", 3),
    "a slider beside a slider": Sheet(rows("id|summary|accuracy|plainness|minutes", "1|TEXT|80|5|30", "2|TEXT|7|90|80", "3|TEXT|55|60|20"), 3, "accuracy plainness", "rater-1", 6, "plainness  rating"),
    "participants by number": Sheet(rows("id|sentence|acceptability_P01|acceptability_P02", *TWO), 3, "acceptability", "P01 P02", 6),
    "versions by number": Sheet(rows("id|summary|accuracy_v1|accuracy_v2", *TWO), asks="which part of the column names 'accuracy_v1'"),
    "addresses before": Sheet(rows("id|summary|a.b@x.org accuracy|c.d@x.org accuracy", *TWO), 3, "accuracy", "a.b@x.org c.d@x.org", 6),
    "words between text and scores that hardly recur": Sheet(f"id,summary,diet,accurate\n1,{A},light,4\n2,{B},soft,3\n3,{C},vegan,2\n4,{A}1,light,5\n5,{B}1,plain,1\n", 5, "accurate", "rater-1", 5),
    "a language before the text": Sheet(rows("id|language|code|docstring|correct", *(f"{n}|python|def add(a): return a + {n} # one|TEXT|{n}" for n in (1, 2, 3))), 3, "correct", "rater-1", 3, "language   kept"),
    "a language in words of quality": Sheet(rows("id|accuracy|text|style", "1|clumsy|TEXT|4", "2|neat|TEXT|3", "3|neat|TEXT|2"), asks="'accuracy' seems to hold scores"),
    "one zero on a scale to ten": Sheet("id,text,score\n" + "".join(f"{n},{A}{n},{n % 11}\n" for n in range(10, 21)), 11, "score", "rater-1", 11, "from 0 to 10"),
    "one zero far from the rest": Sheet("id,text,score\n" + "".join(f"{n},{A}{n},{6 + n % 5 if n else 0}\n" for n in range(12)), asks="0 is far from the other scores, which are 6 to 10"),
    "a text named after another": Sheet(rows("id|patch|code review|useful_r1|useful_r2", *(f"p{n}|x = {n} * (y + z) # a sum|TEXT|{n}|{n}" for n in (1, 2, 3))), asks="'patch' or 'code review'"),
    "a key to answers": Sheet(rows("id|answer key|essay|points", *(f"{n}|What a teacher would have said of {n}.|TEXT|{n}" for n in (1, 2, 3))), asks="'answer key' or 'essay'"),
    "feedback that may be judged": Sheet(rows("id|essay|teacher feedback|helpful", *(f"{n}|What a pupil had written at home on day {n}.|TEXT|{n}" for n in (1, 2, 3))), asks="'essay' or 'teacher feedback'"),
    "a rater's comments before the scores": Sheet("id,Bescheid,rater,comment,clear\n" + "".join(f"{n},{text},{who},Here {who} had to read twice.,{n}\n" for n, text in ((1, A), (2, B), (3, C)) for who in ("Ann", "Bob")), 3, "clear", "Ann Bob", 6, "comment   kept"),
    "parts of a document by two systems": Sheet("Segment,System,Source,MT output,fluent\n" + "".join(f"{n},{system},What was written first in part {n}.,{text}{n},{n}\n" for n in (1, 2, 3) for system, text in (("a", A), ("b", B))), 6, "fluent", "rater-1", 6, "several texts share an id but differ in 'System'"),
    "numbered raters beside a label": Sheet(rows("id|tweet|gold|annotator_1|annotator_2", *(f"{n}|TEXT|{n % 2}|{n % 2}|{n // 2}" for n in (1, 2, 3))), asks="which part of the column names 'annotator_1'"),
    "numbered questions of numbered raters": Sheet(rows("id|summary|reviewer_1_q1|reviewer_1_q2|reviewer_2_q1|reviewer_2_q2", *FOUR), 3, "q1 q2", "reviewer_1 reviewer_2", 12),
    "the most of a mark before the name": Sheet(rows("id|answer|mark /20 Smith|mark /20 Jones", "1|TEXT|14|20", "2|TEXT|0|5", "3|TEXT|17|11"), 3, "mark", "Smith Jones", 6, "from 0 to 20"),
    "labels by two people": Sheet("id,tweet,polarity Ann,polarity Bob\n" + "".join(f"{n},{A}{n},{('pos', 'neg')[n % 2]},{('neg', 'pos')[n % 2]}\n" for n in range(6)), asks="'polarity Ann' seems to hold scores"),
    "labels in rows by person": Sheet("id,tweet,annotator,label\n" + "".join(f"{n},{text},{who},{('spam', 'ham')[n % 2]}\n" for n, text in ((1, A), (2, B), (3, C)) for who in ("Ann", "Bob")), asks="'label' seems to hold scores"),
    "no ratings yet": Sheet(rows("id|summary", "1|TEXT", "2|TEXT", "3|TEXT"), 3, "accurate thorough clear", "rater-1 rater-2", 0),
}  # fmt: skip


# A workbook's cells come the same way as a text's from there on: some of each kind of sheet will do.
@pytest.mark.parametrize(
    ("name", "book"), [*((name, False) for name in SHEETS), *((name, True) for name in [*SHEETS][::5])]
)
def test_a_sheet_is_read_as_a_person_would_or_asked_about(tmp_path: Path, name: str, book: bool) -> None:
    sheet = SHEETS[name]
    path = tmp_path / "sheet.csv"
    path.write_bytes(sheet.text if isinstance(sheet.text, bytes) else sheet.text.encode())
    if book:
        if isinstance(sheet.text, bytes) or set(";\t|") & set(sheet.text) or "quoted" in name:
            pytest.skip("a matter of text files")
        cells = [
            [int(cell) if cell.isdigit() else cell for cell in row]
            for row in csv.reader(sheet.text.splitlines())
        ]
        path = write_workbook(tmp_path / "sheet.xlsx", text_rows(*cells))

    folder = tmp_path / "made"
    ended = CliRunner().invoke(app, ["new", str(folder), "--from", str(path), "--jury", "lens-jury", "--yes"])

    if sheet.asks:
        assert sheet.asks in str(ended.exception), ended.output
        assert not folder.exists()
        return
    assert ended.exit_code == 0, (ended.output, ended.exception)
    assert sheet.said in ended.output
    with (folder / "ratings.csv").open() as file:
        ratings = list(csv.DictReader(file))
    attributes = [each["name"] for each in yaml.safe_load((folder / "rubric.yaml").read_text())["attributes"]]
    with (folder / "cases.csv").open() as file:
        cases = list(csv.DictReader(file))
    assert (len(cases), {case["output"].rstrip("0123456789") for case in cases} <= {A, B, C}) == (
        sheet.cases,
        True,
    )
    assert (attributes, sorted({row["rater"].replace(" ", "_") for row in ratings})) == (
        sheet.attributes.split(),
        sorted(sheet.people.split()),
    )
    assert sum(bool(row[name]) for row in ratings for name in attributes) == sheet.scores


MEANS = (["Ward", "mean of clear", "cases"], ["North", 2.5, 2], ["South", 3.5, 4])


@pytest.mark.parametrize(
    ("before", "scores"),
    [
        ((["Study", "Ward 3"], ["Version", "2"]), (3, 2)),
        (MEANS, (3, 2)),
        (MEANS, ("no", "yes")),
        (MEANS, ("agree", "disagree")),
    ],
    ids=["cover", "means", "means of answers", "means of opinions"],
)
def test_a_cover_is_passed_over_and_several_tables_are_named(
    tmp_path: Path, before: tuple[list[object], ...], scores: tuple[object, object]
) -> None:
    table = text_rows(["id", "summary", "clear"], ["1", A, scores[0]], ["2", C, scores[1]])
    cover = text_rows(*before)
    names = '<sheet name="About" sheetId="1" r:id="rId1"/><sheet name="Data" sheetId="2" r:id="rId2"/>'
    book = write_workbook(tmp_path / "two.xlsx", cover, second=table, sheets=names)

    ended = CliRunner().invoke(
        app, ["new", str(tmp_path / "p"), "--from", str(book), "--jury", "lens-jury", "--yes"]
    )

    assert ended.exit_code == 0, (ended.output, ended.exception)
    assert (
        "reading the sheet 'Data'; to read another sheet, give its name with --sheet: About" in ended.output
    )
    assert "2 cases, 1 attribute, 2 ratings by 1 person" in ended.output


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("case,rater,attribute,value\na,Ana,clear,4\nb,Ben,clear,2\n", {"Ana", "Ben"}),
        ("case,rater,clear\na,Ana,4\nb,Ben,2\n", {"Ana", "Ben"}),
        ("ID,Reviewer,clear\na,Ana,4\nb,Ben,2\n", {"Ana", "Ben"}),
        ("case,clear (Ana),clear (Ben)\na,4,\nb,,2\n", {"Ana", "Ben"}),
        (f"case_id,ward_note,ai_summary,clear_ana,clear_ben\na,{A},{B},4,\nb,{B},{C},,2\n", {"ana", "ben"}),
        (f"case,rater,summary,date,clear\na,Ana,{A},2026-05-01,4\nb,Ben,{B},2026-05-02,2\n", {"Ana", "Ben"}),
        ("Ward 3\n\nFall;Prüfer;Clear (1-5)\na;Ana;4,0\nb;Ben;2\na;Ben;n/a\n", {"Ana", "Ben"}),
    ],
)
def test_every_form_of_ratings_is_recognised(tmp_path: Path, text: str, people: set[str]) -> None:
    (tmp_path / "r.csv").write_text(text)
    ratings = [rating for rating in read_ratings(tmp_path / "r.csv") if rating.value is not None]

    assert {(rating.case, rating.attribute, rating.value) for rating in ratings} == {
        ("a", "clear", 4.0),
        ("b", "clear", 2.0),
    }
    assert {rating.rater for rating in ratings} == people


def test_rounds_and_words_of_a_plain_table_stay_beside_a_comment(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(
        f"case,rater,round,clear,kind,comment\na,Ana,1,4,mild,{A}\na,Ana,2,5,severe,{B}\n"
    )
    ratings = [rating for rating in read_ratings(tmp_path / "r.csv") if rating.attribute != "comment"]

    assert [(r.round, r.attribute, r.value) for r in ratings] == [
        (1, "clear", 4.0), (1, "kind", "mild"), (2, "clear", 5.0), (2, "kind", "severe"),
    ]  # fmt: skip


def test_a_file_that_may_be_both_forms_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("case,rater,attribute,value\na,Ana,3,4\n")

    with pytest.raises(InvalidFile, match="are two attributes, or one attribute"):
        list(read_ratings(tmp_path / "r.csv"))


MANY = "id,summary,accuracy\n" + "".join(f"{n},{A}{n},{1 + n % 3 + (n == 2)}\n" for n in range(24))
TEAM = rows("id|summary|Team|accurate", "1|TEXT|Ost|4", "2|TEXT|West|3", "3|TEXT|Ost|5")
SENT = rows("id|summary|sent|accurate", "1|TEXT|yes|4", "2|TEXT|no|3", "3|TEXT|no|5")
FIRST = rows(
    "id|first|second|accurate",
    *(f"{n}|TEXT|What the clinic had written down on day {n} of the stay.|{n}" for n in (1, 2, 5)),
)


@pytest.mark.parametrize(
    ("text", "option", "answers", "people", "attributes", "role"),
    [
        (FIRST, "", "first source", "rater-1", "accurate", "second    source"),
        (FIRST, "output=first kept=second", "", "rater-1", "accurate", "second    kept"),
        (rows("id|summary|anna|bob", *TWO), "", "people", "anna bob", "overall_quality", ""),
        (rows("id|summary|anna|bob", *TWO), "", "attributes", "rater-1", "anna bob", ""),
        (rows("id|summary|anna|bob", *TWO), "rating=anna", "", "rater-1", "anna bob", ""),
        (rows("id|summary|Score 1|Score 2", *TWO), "", "second", "1 2", "score", ""),
        (rows("id|summary|Score 1|Score 2", *TWO), "", "neither", "rater-1", "score_1 score_2", ""),
        (TEAM, "", "rater", "Ost West", "accurate", "Team      rater"),
        (TEAM, "kept=Team", "", "rater-1", "accurate", "Team      kept"),
        (SENT, "", "y", "rater-1", "sent accurate", "sent      rating"),
        (SENT, "kept=sent", "", "rater-1", "accurate", "sent      kept"),
        (MANY, "", "4", "rater-1", "accuracy", "accuracy (1-4)  rating"),
        (MANY, "scale=1-5", "", "rater-1", "accuracy", "accuracy (1-5)  rating"),
        (MANY, "scale=accuracy=0-4", "", "rater-1", "accuracy", "accuracy (0-4)  rating"),
        (MANY.replace("4\n", "9\n", 1), "scale=1-9", "", "rater-1", "accuracy", "accuracy (1-9)  rating"),
        (MANY.replace("4\n", "9\n", 1), "", "n", "rater-1", "accuracy", "accuracy (1-3)  rating"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_answered_at_a_terminal_or_by_an_option(
    tmp_path: Path, text: str, option: str, answers: str, people: str, attributes: str, role: str
) -> None:
    path, folder = tmp_path / "sheet.csv", tmp_path / "made"
    path.write_text(text)
    command = ["new", str(folder), "--from", str(path), "--jury", "lens-jury"]
    for pair in option.split():
        command += (
            ["--scale", pair.removeprefix("scale=")] if pair.startswith("scale=") else ["--column", pair]
        )
    command += ["--yes"] if option else []
    typed = "\n".join([*answers.split(), "y", *[""] * len(attributes.split())]) + "\n"

    ended = CliRunner().invoke(app, command, input=None if option else typed)

    assert ended.exit_code == 0, (ended.output, ended.exception)
    assert role in ended.output
    with (folder / "ratings.csv").open() as file:
        ratings = list(csv.DictReader(file))
    assert (list(ratings[0]), {row["rater"] for row in ratings}) == (
        ["case", "rater", *attributes.split()],
        set(people.split()),
    )


@pytest.mark.parametrize(
    ("codes", "scale"),
    [
        ([["Variable", "Description", "Values"], ["clear", "is it easy to read and in order", "1-5"]], ""),
        ([["Key"], ["1", "poor"], ["2", "fair"], ["3", "good"], ["4", "very good"], ["5", "best"], ["6", "top"]], "1 to 6"),
        ([["How to"], ["1", "open"], ["2", "read"], ["3", "score"], ["4", "save"]], ""),
        ([["Study", "Ward 3"], ["Scale", "0 to 8"]], "0 to 8"),
    ],
)  # fmt: skip
def test_a_codebook_before_the_ratings_tells_the_scale(
    tmp_path: Path, codes: list[list[str]], scale: str
) -> None:
    table = text_rows(["id", "summary", "clear"], ["1", A, 3], ["2", C, 5])
    names = '<sheet name="Codes" sheetId="1" r:id="rId1"/><sheet name="Data" sheetId="2" r:id="rId2"/>'
    book = write_workbook(tmp_path / "two.xlsx", text_rows(*codes), second=table, sheets=names)

    ended = CliRunner().invoke(
        app, ["new", str(tmp_path / "p"), "--from", str(book), "--jury", "lens-jury", "--yes"]
    )

    assert "reading the sheet 'Data'" in ended.output
    assert (f"the sheet says that its scale is {scale}" in ended.output) is bool(scale)
    assert "2 cases, 1 attribute, 2 ratings by 1 person" in ended.output


def test_a_sheet_for_each_rater_is_read_as_theirs_where_the_texts_are_the_same(tmp_path: Path) -> None:
    table = text_rows(["id", "summary", "clear"], ["1", A, 3], ["2", C, 5])
    other = text_rows(["id", "summary", "clear"], ["1", B, 3], ["2", C, 5])

    def new(second: str, *names: str) -> tuple[str, set[str]]:
        folder = tmp_path / "-".join(names) / str(second == table)
        folder.mkdir(parents=True)
        sheets = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(names, 1))  # fmt: skip
        book = write_workbook(folder / "two.xlsx", table, second=second, sheets=sheets)
        ended = CliRunner().invoke(app, ["new", str(folder / "p"), "--from", str(book), "--jury", "lens-jury", "--yes"])  # fmt: skip
        if ended.exception:
            return str(ended.exception), set()
        of_sheet, of_new = (list(read_ratings(path)) for path in (book, folder / "p" / "ratings.csv"))
        assert of_sheet == of_new
        return ended.output, {rating.rater for rating in of_sheet}

    said, people = new(table, "Ann", "Bob")
    assert "the sheets 'Ann', 'Bob' hold the same texts and are read as one rater each" in said
    assert people == {"Ann", "Bob"}
    assert "the sheets 'Ann', 'Bob' have the same columns" in new(other, "Ann", "Bob")[0]
    assert "the sheets 'Scores', 'Scores 2' have the same columns" in new(table, "Scores", "Scores 2")[0]
    wider = text_rows(["id", "on", "summary", "clear", "warm"], ["1", "May", A, 3, 2], ["2", "June", C, 5, 4])
    assert "the sheets 'March', 'April' have the same columns" in new(wider, "March", "April")[0]


@pytest.mark.parametrize(
    ("cells", "scores"),
    [
        ("★★★☆☆ ★☆☆☆☆ ★★★★★", "3 1 5"),
        ("4/5 2/5 5/5", "4 2 5"),
        ("agree,strongly disagree,neutral,strongly agree", "4,1,3,5"),
        ("gut,mangelhaft,sehr gut", "4,1,5"),
        ("-2 0 +1", "-2 0 1"),
    ],
)
def test_marks_are_read_as_the_numbers_that_they_stand_for(cells: str, scores: str) -> None:
    mark = "," if "," in cells else " "
    read = [{"x": cell} for cell in cells.split(mark)]
    read_marks(read)

    assert [row["x"] for row in read] == scores.split(mark)


@pytest.mark.parametrize(
    ("columns", "scales"),
    [
        # From one, unless somebody gave none of so many, or there are more than ten.
        ({"x": "7/10 3/10"}, {"x": "1-10"}),
        ({"x": "7/11 3/11"}, {"x": "0-11"}),
        ({"x": "0/4 3/4"}, {"x": "0-4"}),
        ({"x": "7/10 3/10", "y": "0/10 9/10"}, {"x": "0-10", "y": "0-10"}),
        ({"x": "4/5 2/5", "y": "0/10 9/10"}, {"x": "1-5", "y": "0-10"}),
        ({"x": "★★★ ★"}, {"x": "1-5"}),
        ({"x": "★★★ ★", "y": "★★★★★★★ ★★☆☆☆☆☆"}, {"x": "1-7", "y": "1-7"}),
        # Somebody who never said partly had the scale of those who did.
        (
            {"x_r1": "no partly yes", "x_r2": "no yes yes"},
            dict.fromkeys(("x_r1", "x_r2"), "1 = no, 2 = partly, 3 = yes"),
        ),
        ({"x": "no partly yes", "y": "no yes yes"}, {"x": "1 = no, 2 = partly, 3 = yes"}),
        # What is left out because it is two steps says that both are there.
        (
            {"x": "bad good excellent bad/fair bad good bad"},
            {"x": "1 = bad, 2 = fair, 3 = good, 4 = excellent"},
        ),
    ],
)
def test_the_scale_of_marks_is_that_of_all_columns_of_their_kind(
    columns: dict[str, str], scales: dict[str, str]
) -> None:
    cells = {name: column.split() for name, column in columns.items()}
    named = read_marks([dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)])

    assert named == {name: f"{name} ({scale})" for name, scale in scales.items()}


@pytest.mark.parametrize("line", [4, 5], ids=["workbook", "text"])
def test_a_last_text_of_two_lines_that_nobody_rated_is_no_note(line: int) -> None:
    grid = [(1, ["id", "summary", "a", "b"]), (2, ["1", A, "4", "5"]), (3, ["2", B, "3", "2"]), (line, ["", f"{C}\n{C}", "", ""])]  # fmt: skip

    assert len(sheet_table(grid).rows) == 3


def made(folder: Path, sheet: str, *options: str) -> Path:
    """The folder that `venire new` makes from a sheet."""
    path = folder / "sheet.csv"
    path.write_text(sheet)
    command = ["new", str(folder / "made"), "--from", str(path), "--jury", "lens-jury", "--yes", *options]
    ended = CliRunner().invoke(app, command)
    assert ended.exit_code == 0, (ended.output, ended.exception)
    return folder / "made"


@pytest.mark.parametrize(
    ("header", "people", "attributes"),
    [
        ("AB|CD", ["AB", "CD"], {"overall_quality"}),
        ("tone_1|tone_2", ["1", "2"], {"tone"}),
        ("Tone – Rossi|Tone – O’Neill", ["Rossi", "O’Neill"], {"tone"}),
        ("An Li’s tone|Bo Li’s tone", ["An Li", "Bo Li"], {"tone"}),
        ("Tone Patel (1-7)|Tone Green (1-7)", ["Green", "Patel"], {"tone"}),
        ("Anna tone|Anna B tone", ["Anna", "Anna B"], {"tone"}),
    ],
)
def test_people_are_named_on_the_command_line_where_names_of_columns_do_not_tell(
    tmp_path: Path, header: str, people: list[str], attributes: set[str]
) -> None:
    named = [word for person in people for word in ("--rater", person)]
    ratings = list(read_ratings(made(tmp_path, rows(f"id|summary|{header}", *TWO), *named) / "ratings.csv"))

    assert {rating.rater for rating in ratings} == set(people)
    assert {rating.attribute for rating in ratings} == attributes
    assert len(ratings) == 6


def test_people_who_used_parts_of_one_scale_are_read_where_it_is_given(tmp_path: Path) -> None:
    lines = ("1|TEXT|4|80", "2|TEXT|3|55", "3|TEXT|2|20")
    told = made(tmp_path, rows("id|summary|tone_vera|tone_tim", *lines), "--scale", "0-100")
    assert sorted(each.value for each in read_ratings(told / "ratings.csv")) == [2, 3, 4, 20, 55, 80]
    (tmp_path / "b").mkdir()
    noted = made(tmp_path / "b", rows("id|summary|tone_vera (0-100)|tone_tim (0-100)", *lines))
    assert len(list(read_ratings(noted / "ratings.csv"))) == 6


def test_a_person_whom_no_column_names_and_a_column_of_nobody_are_refused(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(rows("id|summary|AB|CD", *TWO))
    for people, problem in ((["AB", "EF"], "no column of scores names 'EF'"), (["AB"], "by the column 'CD'")):
        with pytest.raises(VenireError, match=problem):
            read_sheet(sheet, say=lambda _: None, people=people)


@pytest.mark.parametrize(
    "sheet",
    [
        rows("id|summary|Note (1 = sehr gut, 4 = mangelhaft)", "1|TEXT|4", "2|TEXT|3", "3|TEXT|1", mark=";"),
        rows("id|summary|Note [1 sehr gut, 2 gut, 3 schlecht, 4 mangelhaft]", "1|TEXT|4", "2|TEXT|3", "3|TEXT|1", mark=";"),
        "Notes from 1 = sehr gut to 4 = mangelhaft\n" + rows("id|summary|Note", "1|TEXT|4", "2|TEXT|3", "3|TEXT|1"),
    ],
)  # fmt: skip
def test_what_a_sheet_says_of_the_steps_of_its_scale_reaches_the_jurors(tmp_path: Path, sheet: str) -> None:
    folder = made(tmp_path, sheet)
    (scale,) = yaml.safe_load((folder / "rubric.yaml").read_text())["scales"].values()

    assert list(scale["anchors"]) == [1, 2, 3, 4]
    assert (scale["anchors"][1], scale["anchors"][4]) == ("sehr gut", "mangelhaft")
    assert sorted(rating.value for rating in read_ratings(folder / "ratings.csv")) == [1, 3, 4]


def test_texts_that_are_numbered_in_turn_have_these_numbers_for_ids_whatever_the_column_is_called(
    tmp_path: Path,
) -> None:
    lines = [f"{n},Text {n} is about a patient who is well.,{2 + n % 4},{5 - n % 3}" for n in range(1, 8)]
    sheet = "\n".join(["Note,Summary,Smith: overall,Jones: overall", *lines])
    ratings = list(read_ratings(made(tmp_path, sheet) / "ratings.csv"))

    assert {rating.case for rating in ratings} == set("1234567")
    assert {(rating.rater, rating.attribute) for rating in ratings} == {
        ("Smith", "overall"),
        ("Jones", "overall"),
    }


def test_an_id_that_was_given_twice_is_said_and_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    ids = ["M01", "M02", "M03", "M04", "M05", "M04", "M07", "M08"]
    lines = [f"{name},{(A, B, C)[n % 3]} It was seen on day {n}.,{1 + n % 5}" for n, name in enumerate(ids)]
    (tmp_path / "sheet.csv").write_text("\n".join(["msg_id,summary,clear", *lines]))
    notes: list[str] = []
    read, columns = read_sheet(tmp_path / "sheet.csv", say=notes.append)

    assert columns.one("id") == "msg_id"
    assert [row["msg_id"] for row in read] == ["M01", "M02", "M03", "M04", "M05", "M04-2", "M07", "M08"]
    assert any("'M04'" in note for note in notes)


def test_a_row_that_was_pasted_twice_is_named_and_counted_once(tmp_path: Path) -> None:
    lines = [f"{n},{text},{who},4" for n, text in enumerate((A, B, C)) for who in ("Smith", "Jones")]
    (tmp_path / "sheet.csv").write_text("\n".join(["id,summary,rater,clear", *lines, lines[-1]]))
    notes: list[str] = []
    read, columns = read_sheet(tmp_path / "sheet.csv", say=notes.append)

    assert "line 8 repeats line 7 and is counted once" in notes
    assert not any("one rater each" in note for note in notes)
    assert len(sheet_ratings(read, columns)) == 6


def test_the_rival_of_the_text_that_is_named_is_asked_about_and_never_dropped_unasked(tmp_path: Path) -> None:
    lines = [f"{n},{text},{text[::-1]},{n + 1}" for n, text in enumerate((A, B, C))]
    (tmp_path / "sheet.csv").write_text("\n".join(["id,Caller said,Counsellor replied,clear", *lines]))
    named = ["output=Counsellor replied"]
    with pytest.raises(VenireError, match="'Caller said' could be the source"):
        read_sheet(tmp_path / "sheet.csv", say=lambda _: None, named=named)
    _, columns = read_sheet(tmp_path / "sheet.csv", say=lambda _: None, named=[*named, "source=Caller said"])

    assert (columns.one("output"), columns.one("source")) == ("Counsellor replied", "Caller said")
