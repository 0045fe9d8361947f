"""Prints every cell of a workbook as a program of its own reads it: its kind, its value, and how it is shown."""

import json
import sys

import openpyxl

book = openpyxl.load_workbook(sys.argv[1])
for row in book.worksheets[0].iter_rows():
    print(json.dumps([[cell.data_type, cell.value, cell.number_format] for cell in row], ensure_ascii=True))
