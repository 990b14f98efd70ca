"""DWS: what was ordered in the seven days up to a date."""

from datetime import date, timedelta

import _tables as tables
import mainspring as ms

with ms.Dag("dws", schedule=ms.schedule("0 4 * * *", timezone="Asia/Shanghai")) as dag:

    @ms.task(depends_on=[ms.dep("dwd.orders", window=(-6, 0))])
    def week(biz_date: date) -> int:
        total = 0
        for day in (biz_date - timedelta(days=back) for back in range(7)):
            try:
                total += sum(int(row["cents"]) for row in tables.read("dwd/orders", day))
            except FileNotFoundError:
                pass  # days before the first one
        tables.write("dws/week", biz_date, [{"cents": total}])
        return total
