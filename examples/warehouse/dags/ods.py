"""ODS: what the shop wrote during a day, as it is."""

from datetime import date

import _tables as tables
import mainspring as ms

with ms.Dag("ods", schedule=ms.schedule("0 2 * * *", timezone="Asia/Shanghai")) as dag:

    @ms.task(retries=0, produces=ms.asset("ods.orders"))
    def orders(biz_date: date) -> int:
        return tables.write("ods/orders", biz_date, tables.read("shop/orders", biz_date))

    @ms.task(retries=0)
    def rates(biz_date: date) -> int:
        return tables.write("ods/rates", biz_date, tables.read("shop/rates", biz_date))

    @ms.task(retries=0)
    def notes(biz_date: date) -> int:
        """Nice to have: nobody waits for it."""
        return tables.write("ods/notes", biz_date, tables.read("shop/notes", biz_date))
