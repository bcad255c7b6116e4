"""From results to what people read: charts, a page, a table. Nothing is measured here."""
