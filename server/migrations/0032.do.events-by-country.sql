-- Autocomplete finds events by their country.
create index category_by_country on category ((profile ->> 'country')) where profile ? 'country';
