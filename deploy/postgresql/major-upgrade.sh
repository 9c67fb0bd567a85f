#!/bin/sh
# Usage: OLD_URL=... NEW_URL=... sh major-upgrade.sh copy|status|search|switch|cancel
#
# Moves the database to a newer major version of PostgreSQL by logical replication, with some
# seconds without writes. docs/upgrade-postgresql.md explains the steps.
#
#   copy    creates the tables on the new server, and begins to copy the old one
#   status  prints how far the copy is; succeeds when the next step can be taken
#   search  builds what depends on the version of the server: search index, fingerprints
#   switch  ends writes on the old server, waits until the new one has everything, compares them
#   cancel  goes back: the old server takes writes, and the copy ends
#
# OLD_URL and NEW_URL are the databases, as superuser. The new database is empty, and belongs to the
# role of the archive. OLD_URL_FROM_NEW is the old one as the new server reaches it, if that differs.
# SWITCH_SECONDS limits how long `switch` waits, 60 by default. Needs psql and pg_dump (15 or newer,
# and not older than the old server), from PG_BIN if it is set.
set -eu

name=talkshelf_upgrade # of the publication, the subscription, the slot and a schema
# Depend on the rules for accents and stems, which change with the version: not copied, but built.
built="'video_search', 'search_word', 'search_lexeme', 'fingerprint', 'duplicate_candidate'"

say() { printf '%s\n' "$1"; }
fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

[ $# -eq 1 ] || fail 'Usage: sh major-upgrade.sh copy|status|search|switch|cancel'
[ -n "${OLD_URL:-}" ] && [ -n "${NEW_URL:-}" ] || fail 'Set OLD_URL and NEW_URL.'
switch_s=${SWITCH_SECONDS:-60}
[ -z "${PG_BIN:-}" ] || PATH=$PG_BIN:$PATH
export PGCONNECT_TIMEOUT=10 PGAPPNAME='talkshelf major-upgrade'

run_psql() { # URL ARGUMENT...
  url=$1
  shift
  # This script may write after `switch` has ended writes.
  PGOPTIONS='-c default_transaction_read_only=off -c statement_timeout=0' psql --no-psqlrc --quiet \
    --no-align --tuples-only --field-separator=' ' --set=ON_ERROR_STOP=1 --dbname="$url" "$@"
}
old() { run_psql "$OLD_URL" "$@"; }
new() { run_psql "$NEW_URL" "$@"; }
# As the role that owns the new database, and so all tables.
new_as_owner() { new --command="set role $owner" "$@"; }

identity="(select system_identifier || '.' || oid from pg_control_system(), pg_database
           where datname = current_database())"
# All tables of the archive; not those of extensions.
tables="select c.oid, relnamespace::regnamespace || '.' || quote_ident(relname) as relation
        from pg_class c
        where relkind in ('r', 'p') and not relispartition and relpersistence <> 't'
          and relnamespace::regnamespace::text !~ '^(pg_|information_schema$|$name$)'
          and not exists (select from pg_depend
                          where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')"
copied_tables="$tables and relname not in ($built)"
without_key="$copied_tables
        and not exists (select from pg_index where indrelid = c.oid and indisprimary)"

has_subscription() {
  [ -n "$(new --command="select subname from pg_subscription where subname = '$name'")" ]
}
read_owner() {
  owner=$(new --command='select quote_ident(pg_get_userbyid(datdba)) from pg_database
                         where datname = current_database()')
}

# --- copy

check_servers() {
  for url in "$OLD_URL" "$NEW_URL"; do
    [ "$(run_psql "$url" --command='show is_superuser')" = on ] ||
      fail 'OLD_URL and NEW_URL must be for superusers.'
  done
  major="select current_setting('server_version_num')::integer / 10000"
  old_major=$(old --command="$major")
  [ "$(new --command="$major")" -ge "$old_major" ] ||
    fail 'NEW_URL is of an older PostgreSQL than OLD_URL.'
  dump_major=$(pg_dump --version | sed 's/.*) \([0-9]*\).*/\1/')
  [ "$dump_major" -ge "$old_major" ] ||
    fail "pg_dump $dump_major is older than the old server: set PG_BIN to the programs of the new one."
  [ "$(old --command="$identity")" != "$(new --command="$identity")" ] ||
    fail 'OLD_URL and NEW_URL are the same database.'
  [ "$(old --command='show wal_level')" = logical ] ||
    fail "The old server does not write what a copy needs. Run there:
  alter system set wal_level = logical
Then restart it, and run this again."
  [ "$(new --command="select count(*) from ($tables) t")" = 0 ] ||
    fail 'The new database is not empty.'
  [ "$(old --command="select count(*) from pg_publication where pubname = '$name'")" = 0 ] ||
    fail "A copy has been begun before. End it: sh major-upgrade.sh cancel"
  [ "$(old --command="select (select count(*) from pg_largeobject_metadata) + count(*)
                      from pg_class where relkind = 'r' and relpersistence = 'u'")" = 0 ] ||
    fail 'The old database has unlogged tables or large objects, which are not copied.'
  locale="select concat_ws(' ', pg_encoding_to_char(encoding), lower('ЖÉ')) from pg_database
          where datname = current_database()"
  [ "$(old --command="$locale")" = "$(new --command="$locale")" ] ||
    fail 'The new database has another encoding or maps upper and lower case differently.'
}

copy() {
  check_servers
  read_owner
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  # Only the owner of an extension can comment on it.
  pg_dump --schema-only --no-owner --no-privileges --no-tablespaces --no-publications \
    --no-subscriptions --dbname="$OLD_URL" >"$folder/dump"
  sed '/^COMMENT ON EXTENSION /d' "$folder/dump" >"$folder/schema.sql"
  new --single-transaction --command="set role $owner" --file="$folder/schema.sql" >"$folder/output"

  # Transaction ids of the old server mean nothing on the new one, where they may be in the future
  # and the change feed would return their rows again and again. With zero, a change is older than
  # all others (server/backup/queries.ts).
  new_as_owner --single-transaction --command="
    create schema $name;
    create function $name.reset_transaction_id() returns trigger language plpgsql as \$\$
    begin
      new.xid := '0';
      return new;
    end \$\$;
    create trigger reset_transaction_id before insert or update on public.change
      for each row execute function $name.reset_transaction_id();
    alter table public.change enable replica trigger reset_transaction_id"

  # Without a key, updates and deletes carry the whole row.
  for relation in $(old --command="select relation from ($without_key) t"); do
    attempt=1
    until old --command="set lock_timeout = '1s'" \
      --command="alter table $relation replica identity full"; do
      [ "$attempt" -lt 30 ] || fail "$relation is locked. Try again at a quiet time."
      attempt=$((attempt + 1))
      sleep 1
    done
  done
  old --command="select format('create publication $name for table %s', string_agg(relation, ', '))
                 from ($copied_tables) t" >"$folder/publication.sql"
  old --file="$folder/publication.sql"

  connection=${OLD_URL_FROM_NEW:-$OLD_URL}
  case $connection in *\?*) separator='&' ;; *) separator='?' ;; esac
  # While the search index is built, the copy waits, and the old server must not take it for dead.
  connection="${connection}${separator}options=-c%20wal_sender_timeout%3D0"
  export connection
  new <<END
\getenv connection connection
create subscription $name connection :'connection' publication $name;
END
  say 'The copy has begun. Until it ends, do not run talkshelf migrate.'
  say 'Next: sh major-upgrade.sh status'
}

# --- status

slot_lag="select coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn), 0)::bigint
          from pg_replication_slots where slot_name = '$name'"

is_search_built() {
  [ "$(new --command="select obj_description(to_regnamespace('$name'), 'pg_namespace')")" = built ]
}

status() {
  has_subscription || fail 'No copy has been begun.'
  lag=$(old --command="$slot_lag and wal_status <> 'lost'")
  [ -n "$lag" ] ||
    fail 'The old server no longer keeps the log that the copy needs, or another one leads its cluster.
Begin again: sh major-upgrade.sh cancel'
  set -- $(new --command="select count(*), count(*) filter (where srsubstate = 'r')
                          from pg_subscription_rel")
  errors=$(new --command="select apply_error_count + sync_error_count from pg_stat_subscription_stats
                          where subname = '$name'")
  say "Tables copied: $2 of $1. Behind the old server: $((lag / 1024)) kB. Errors: ${errors:-0}."
  [ "${errors:-0}" = 0 ] || say 'The log of the new server has the errors; the copy goes on by itself.'
  [ "$1" = "$2" ] || return 1
  if ! is_search_built; then
    say 'Next: sh major-upgrade.sh search'
    return 0
  fi
  changed=$(new --command="select count(distinct id) from $name.changed_video")
  say "Search index: $changed records to do."
  say 'Next: sh major-upgrade.sh switch'
}

# --- search

# Changes that arrive from now on are listed. The list has no key: a change that is not committed yet
# must not find its record listed already.
list_changes="
  create table $name.changed_video (id bigint not null);
  create function $name.list_changed_video() returns trigger language plpgsql as \$\$
  begin
    insert into $name.changed_video (id)
    values (case when tg_op = 'DELETE' then old.id else new.id end);
    return null;
  end \$\$;
  -- A new name of a speaker changes the bodies of records only.
  create trigger list_changed_video after insert or update or delete on public.video
    for each row execute function $name.list_changed_video();
  create trigger list_changed_video after insert or update or delete on public.video_body
    for each row execute function $name.list_changed_video();
  alter table public.video enable replica trigger list_changed_video;
  alter table public.video_body enable replica trigger list_changed_video;

  create function $name.refresh_search() returns bigint language plpgsql
    set search_path from current
    set plan_cache_mode = force_generic_plan as \$\$
  declare
    ids bigint[];
  begin
    with taken as (
      delete from $name.changed_video
      where ctid = any (array(select ctid from $name.changed_video limit 1000))
      returning id
    )
    select coalesce(array_agg(distinct id), '{}') into ids from taken;
    delete from video_search where id = any (ids);
    insert into video_search
    select source.*
    from unnest(ids) as changed (id),
         lateral (select * from search_source where id = changed.id offset 0) as source;
    perform add_search_words(ids);
    insert into fingerprint (key)
    select key
    from video, unnest(array[same_source, same_talk]) as key
    where id = any (ids) and key is not null
    on conflict do nothing;
    insert into duplicate_candidate (rule, key)
    select 'same-source', same_source
    from video
    where same_source in (select same_source from video where id = any (ids))
    group by same_source
    having count(*) > 1
    union all
    select 'same-talk', same_talk
    from video
    where same_talk in (select same_talk from video where id = any (ids))
    group by same_talk
    having count(*) > 1
    on conflict do nothing;
    return (select count(*) from $name.changed_video);
  end \$\$"

# Of more than 50,000 records, a part stands for all, as in maintenance.
count_lexemes="
  insert into search_lexeme (lexeme, language_id, talks)
  select lexeme, language_id, count(*) * step
  from (select greatest(1, count(*) / 50000) as step from video_search) as total,
       video_search, unnest(tsvector_to_array(head || text)) as lexeme
  where id % step = 0
  group by lexeme, language_id, step
  having count(*) > 1"

refresh_search() { # LIMIT: how many changes may be left
  rounds=0
  until [ "$(new_as_owner --command="select $name.refresh_search()")" -le "$1" ]; do
    rounds=$((rounds + 1))
    [ "$rounds" -lt 10000 ] || fail 'The search index does not catch up.'
  done
}

search() {
  status >/dev/null || fail 'The copy is not complete yet: sh major-upgrade.sh status'
  read_owner
  if ! is_search_built; then
    say 'Building the search index, which takes minutes. The old server goes on.'
    # Without statistics, whole tables would be read for each record.
    new --command='vacuum (analyze)'
    if [ -z "$(new --command="select to_regclass('$name.changed_video')")" ]; then
      new_as_owner --single-transaction --command="$list_changes"
    fi
    new_as_owner --command='call rebuild_search()' --command='select rebuild_fingerprints()' \
      --command='truncate search_lexeme' --command="$count_lexemes" \
      --command='vacuum (analyze)' --command="comment on schema $name is 'built'" >/dev/null
  fi
  refresh_search 100
  say 'The search index is complete. Next: sh major-upgrade.sh switch'
}

# --- switch

columns="
  select string_agg(concat_ws(' ', relation, attname, format_type(atttypid, atttypmod)), ', '
                    order by relation collate \"C\", attname collate \"C\")
  from ($tables) t
  join pg_attribute on attrelid = t.oid and attnum > 0 and not attisdropped"
count_rows="
  select string_agg(format('select %L, count(*) from %s', relation, relation), ' union all '
                    order by relation collate \"C\")
  from ($copied_tables) t"

# Ends writes, with those that are in progress. Reads go on.
end_writes() {
  old <<'END'
select format('alter database %I set default_transaction_read_only = on', current_database()) \gexec
END
  before=$(old --command='select clock_timestamp()')
  others="from pg_stat_activity
          where datname = current_database() and backend_type = 'client backend'
            and pid <> pg_backend_pid() and backend_start <= '$before'"
  waited=0
  until [ "$(old --command="select count(pg_terminate_backend(pid)) $others")" = 0 ]; do
    waited=$((waited + 1))
    [ "$waited" -lt $((switch_s * 10)) ] || fail 'Connections to the old server do not end.'
    sleep 0.1
  done
}

allow_writes() {
  old <<'END'
select format('alter database %I reset default_transaction_read_only', current_database()) \gexec
END
  # Those that have connected since are read-only.
  old --command="select pg_terminate_backend(pid) from pg_stat_activity
                 where datname = current_database() and backend_type = 'client backend'
                   and pid <> pg_backend_pid()" >/dev/null
}

give_up() {
  trap - EXIT
  rm -rf "$folder"
  allow_writes || fail "Nothing was switched. Let the old server write: sh major-upgrade.sh cancel"
  fail 'Nothing was switched. The old server takes writes again, and the copy goes on.'
}

wait_for_new() {
  # A commit flushes all that was written before.
  old --command="select pg_logical_emit_message(true, '$name', '')" >/dev/null
  target=$(old --command='select pg_current_wal_lsn()')
  waited=0
  until [ "$(old --command="select confirmed_flush_lsn >= '$target' from pg_replication_slots
                            where slot_name = '$name'")" = t ]; do
    waited=$((waited + 1))
    [ "$waited" -lt $((switch_s * 10)) ] || fail "The new server was not up to date after $switch_s s."
    sleep 0.1
  done
}

copy_sequences() {
  old --command="select format('select setval(%L, %s);', format('%I.%I', schemaname, sequencename), last_value)
                 from pg_sequences where last_value is not null" >"$folder/sequences.sql"
  new --file="$folder/sequences.sql" >/dev/null
}

# Goes on with the change feed where the old server stopped: the changes that it had not read become
# changes of this moment. If that is not possible, the server compares all records with the feed.
continue_feed() {
  set -- $(old --command="
    select database = $identity, count(change), coalesce(string_agg(change.position::text, ','), '0')
    from feed_head
    left join change on xid >= pg_snapshot_xmin(read) and not pg_visible_in_snapshot(xid, read)
    group by database")
  [ "$1" = t ] && [ "$2" -le 10000 ] || return 0
  new --command="update feed_head
                 set database = $identity, read = pg_current_snapshot(), reading = null, position = 0" \
    --command="update change set xid = pg_current_xact_id() where xid = '0' and position in ($3)"
}

compare() {
  old --command="$count_rows" >"$folder/count.sql"
  old --file="$folder/count.sql" >"$folder/old" &
  counting=$!
  new --file="$folder/count.sql" >"$folder/new"
  wait "$counting"
  # Parallel plans return the tables in any order.
  LC_ALL=C sort -o "$folder/old" "$folder/old"
  LC_ALL=C sort -o "$folder/new" "$folder/new"
  diff "$folder/old" "$folder/new" >"$folder/differences" || {
    sed -n 's/^< /old: /p; s/^> /new: /p' "$folder/differences" >&2
    fail 'Some tables do not have the same number of rows.'
  }
}

switch() {
  status >/dev/null || fail 'The copy is not complete yet: sh major-upgrade.sh status'
  is_search_built || fail 'The search index is not built yet: sh major-upgrade.sh search'
  read_owner
  [ "$(old --command="$columns")" = "$(new --command="$columns")" ] ||
    fail 'The tables of the old server have changed. Begin again: cancel, then copy.'
  folder=$(mktemp -d)
  refresh_search 100
  waited=0
  until [ "$(old --command="$slot_lag")" -lt 1000000 ]; do
    waited=$((waited + 1))
    [ "$waited" -lt "$switch_s" ] || fail 'The new server is too far behind. Try again at a quiet time.'
    sleep 1
  done

  started=$(date +%s)
  trap give_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  end_writes
  wait_for_new
  refresh_search 0
  copy_sequences
  # Synonyms are found by their terms without accents.
  new_as_owner --command="
    with moved as (delete from synonym where key <> synonym_key(term) returning *)
    insert into synonym (key, term, group_id, position)
    select synonym_key(term), term, group_id, position from moved
    on conflict do nothing"
  compare
  continue_feed
  new --command="drop subscription $name" >/dev/null
  trap - EXIT
  # With its functions, and their triggers.
  new --command='set client_min_messages = warning' --command="drop schema $name cascade"
  old --command="drop publication $name"

  say "The new server has everything. $(wc -l <"$folder/new") tables have the same number of rows."
  say "The old server has been read-only for $(($(date +%s) - started)) s."
  say 'Next: start Talkshelf with the new one.'
  rm -rf "$folder"
}

# --- cancel

newest_change='select coalesce(max(position), 0) from public.change'

cancel() {
  if has_subscription; then
    new --command="alter subscription $name disable"
    [ -n "$(old --command="$slot_lag")" ] ||
      new --command="alter subscription $name set (slot_name = none)"
    new --command="drop subscription $name"
  elif [ -n "$(new --command="select to_regclass('public.change')")" ] &&
    [ "$(new --command="$newest_change")" -gt "$(old --command="$newest_change")" ]; then
    fail 'The new server has changes that the old one does not have: it is too late to go back.'
  fi
  old --command="drop publication if exists $name"
  for relation in $(old --command="select relation from ($without_key and relreplident = 'f') t"); do
    old --command="set lock_timeout = '10s'" --command="alter table $relation replica identity default"
  done
  allow_writes
  say 'The old server goes on alone. Drop the new database, and create it again, before the next copy.'
}

case $1 in
  copy | status | search | switch | cancel) "$1" ;;
  *) fail 'Usage: sh major-upgrade.sh copy|status|search|switch|cancel' ;;
esac
