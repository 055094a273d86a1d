"""A table of a paper computed anew: what it prints, what comes out here, and whether both agree."""

import mbdfmu as mbd

for item in mbd.reproduce.chosen(["welch07.table2", "wu00.table2"]):
    print(f"{item.title} ({item.convention})")
    for row in item.rows():
        print(f"  {row.label:32} {row.paper:>10} {row.shown:>10}  {row.verdict.text}  {row.remark}")
