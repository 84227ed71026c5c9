# What a receiver gets of a change: the product as it is now, its group by name, and what it was before.
{
  sku: .new.sku,
  title: .new.title,
  price: .new.price,
  group: .group.name,
  was: (if .previous == null then null else { title: .previous.title, price: .previous.price } end)
}
