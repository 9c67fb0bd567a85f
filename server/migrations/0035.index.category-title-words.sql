-- Autocomplete finds words of names (0033).
create index concurrently if not exists category_title_words
  on category using gin (name_words(title)) with (fastupdate = off);
