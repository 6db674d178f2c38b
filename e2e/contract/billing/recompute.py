"""Recomputes the amounts of invoices from their CSV files alone.

Usage: recompute.py FILE... with all invoices of an organization. Prints the number and the total of each invoice; fails and
names every amount that is not price x unit-seconds / unit size / seconds of the month, rounded half up once. A line that
adjusts an earlier invoice is the difference to it: the lines of one use in one month are judged together.
"""

import calendar
import csv
import sys
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal, getcontext

getcontext().prec = 100


def price(row, unit_seconds):
    year, month = map(int, row["month"].split("-"))
    seconds = calendar.monthrange(year, month)[1] * 86400
    unit_size = 2**30 if row["resource_type"] in ("storage_rwx", "registry") else 1
    if (row["month_seconds"], row["unit_size"]) != (str(seconds), str(unit_size)):
        sys.exit(f"{row['month']} has {seconds} seconds, a unit of {row['resource_type']} is {unit_size}")
    exact = Decimal(row["unit_price_eur"]) * unit_seconds / (unit_size * seconds)
    return exact.quantize(Decimal("0.01"), ROUND_HALF_UP)


rows = []
for name in sys.argv[1:]:
    with open(name, newline="", encoding="utf-8") as file:
        rows += csv.DictReader(file)

totals = defaultdict(Decimal)
uses = defaultdict(list)
for row in rows:
    totals[row["invoice_number"]] += Decimal(row["amount_eur"])
    uses[row["month"], row["cluster_id"], row["resource_type"], row["unit_price_eur"]].append(row)

faults = 0
for use, lines in uses.items():
    expected = price(lines[0], sum(Decimal(line["unit_seconds"]) for line in lines))
    found = sum(Decimal(line["amount_eur"]) for line in lines)
    if found != expected:
        faults += 1
        print(f"{' '.join(use)}: {expected} EUR expected, {found} found", file=sys.stderr)
for number, total in totals.items():
    print(number, total)
sys.exit(1 if faults else 0)
