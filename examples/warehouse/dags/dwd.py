"""DWD: orders in the reporting currency, by the rate of the day before."""

from datetime import date, timedelta

import _tables as tables
import mainspring as ms

with ms.Dag("dwd", schedule=ms.schedule("0 3 * * *", timezone="Asia/Shanghai")) as dag:

    @ms.task(depends_on=[
        "ods.orders",
        ms.dep("ods.rates", offset=-1),
        ms.dep("ods.notes", kind="WEAK"),
    ])
    def orders(biz_date: date) -> int:
        before = biz_date - timedelta(days=1)
        try:
            [row] = tables.read("ods/rates", before)
            rate = float(row["rate"])
        except FileNotFoundError:
            rate = 1.0  # the very first day has no day before
        rows = tables.read("ods/orders", biz_date)
        return tables.write("dwd/orders", biz_date, [
            {"order": row["order"], "cents": round(int(row["cents"]) * rate)} for row in rows])
