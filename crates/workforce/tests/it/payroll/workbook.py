"""Prints every cell of a workbook: its kind, its value and its number format."""

import json
import sys

import openpyxl

workbook = openpyxl.load_workbook(sys.argv[1])
for row in workbook.worksheets[0].iter_rows():
    print(json.dumps([[cell.data_type, cell.value, cell.number_format] for cell in row], ensure_ascii=True))
