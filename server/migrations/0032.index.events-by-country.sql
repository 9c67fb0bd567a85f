-- Autocomplete finds events by their country.
create index concurrently if not exists category_by_country
  on category ((profile ->> 'country')) where profile ? 'country';
