-- Autocomplete finds words of names (0033).
create index concurrently if not exists tag_name_words
  on tag using gin (name_words(name)) with (fastupdate = off);
