-- Autocomplete finds words of names (0033).
create index concurrently if not exists speaker_name_words
  on speaker using gin (name_words(name)) with (fastupdate = off);
