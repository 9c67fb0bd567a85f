# Varnish in front of Talkshelf, with EDGE=varnish:http://127.0.0.1:6081 (docs/edge.md).
# For Varnish 7 with varnish-modules (Debian 12: apt install varnish varnish-modules). Varnish reads
# the token of purges from the environment: set the same EDGE_TOKEN for both.
vcl 4.1;

import accept;
import std;
import xkey;

# Change the address of the archive, here and below, and the path if PUBLIC_URL has one.
backend archive {
  .host = "127.0.0.1";
  .port = "8000";
  .connect_timeout = 2s;
  # Requests with ?wait= take up to 55 s.
  .first_byte_timeout = 65s;
  .between_bytes_timeout = 65s;
  .probe = {
    .url = "/readyz";
    .interval = 1s;
    .timeout = 2s;
    .window = 3;
    .threshold = 2;
    .initial = 2;
  }
}

# Without a probe, for what is not stored: the archive itself answers as long as it runs, and says
# whether a write was applied.
backend archive_directly {
  .host = "127.0.0.1";
  .port = "8000";
  .connect_timeout = 2s;
  .first_byte_timeout = 65s;
  .between_bytes_timeout = 65s;
}

# Add the addresses of the servers of the archive.
acl purgers {
  "127.0.0.1";
  "::1";
}

sub vcl_init {
  new html = accept.rule("text/html");
  new json = accept.rule("application/json");
  new spanish = accept.rule("es");
}

sub vcl_recv {
  if (req.method == "PURGE") {
    if (client.ip !~ purgers || !std.getenv("EDGE_TOKEN")
        || req.http.X-Purge-Token != std.getenv("EDGE_TOKEN")) {
      return (synth(403, "Forbidden"));
    }
    if (req.http.xkey-purge) {
      set req.http.X-Purged = xkey.purge(req.http.xkey-purge);
    }
    if (req.http.xkey-softpurge) {
      set req.http.X-Purged = xkey.softpurge(req.http.xkey-softpurge);
    }
    return (synth(200, "Purged"));
  }

  if (req.restarts == 0) {
    unset req.http.X-Stale;
    unset req.http.X-Passed;
  }
  # An object that was purged softly is used only while the archive does not respond.
  if (req.http.X-Stale || !std.healthy(req.backend_hint)) {
    set req.grace = 7d;
  } else {
    set req.grace = 0s;
  }
  # If nothing is stored, the archive may still answer: a busy one fails the probe.
  if (req.http.X-Stale) {
    set req.backend_hint = archive_directly;
  }

  # Cookies of other programs do not concern the archive. Its own ones are those of readers who
  # have chosen a language or a theme, and of people who sign in.
  if (req.http.Cookie
      !~ "(^|;\s*)(__Host-|__Secure-)?(locale|theme|desk|desk-browser|desk-openid)=") {
    unset req.http.Cookie;
  }
  # The archive refuses bodies that are too large before it has read them, which Varnish would
  # take for a failure.
  if (req.http.Transfer-Encoding || req.http.Content-Length ~ "^\d{7,}$") {
    return (pipe);
  }
  if ((req.method != "GET" && req.method != "HEAD")
      || req.http.Authorization || req.http.Cookie
      || req.url ~ "/api/v2/changes/stream" || req.url ~ "[?&]wait="
      # Varnish compares with one ETag only.
      || req.http.If-None-Match ~ "," || req.http.If-None-Match ~ "^\s*\*") {
    return (pass);
  }

  # Few variants of each page: the archive distinguishes text/html and application/json, English
  # and Spanish. What is not certain is left as it is.
  if (!req.http.Accept || req.http.Accept ~ "^\s*\*/\*\s*$") {
    unset req.http.Accept;
  } elsif (req.http.Accept ~ "(^|,)\s*text/html\s*(,|$)" && req.http.Accept !~ "application/json") {
    set req.http.Accept = html.filter(req.http.Accept);
  } elsif (req.http.Accept ~ "(^|,)\s*application/json\s*(,|$)" && req.http.Accept !~ "text/html") {
    set req.http.Accept = json.filter(req.http.Accept);
  }
  if (req.http.Accept-Language !~ "(?i)\bes\b") {
    set req.http.Accept-Language = "en";
  } elsif (req.http.Accept-Language ~ "(?i)^\s*es(-\w+)*\s*(,|$)") {
    set req.http.Accept-Language = spanish.filter("es");
  }
  return (hash);
}

sub vcl_pipe {
  set bereq.http.Connection = "close";
}

sub vcl_pass {
  set req.http.X-Passed = "1";
  set req.backend_hint = archive_directly;
}

sub vcl_backend_response {
  # The old object stays: an object with the error would be newer, and found instead of it.
  if (beresp.status >= 500 && !bereq.uncacheable) {
    return (abandon);
  }
  if (beresp.http.CDN-Cache-Control ~ "max-age=\d" && !beresp.http.Set-Cookie
      && !bereq.uncacheable) {
    set beresp.ttl = std.duration(
      regsub(beresp.http.CDN-Cache-Control, "^.*max-age=(\d+).*$", "\1s"), 0s);
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    if (beresp.http.CDN-Cache-Control ~ "stale-if-error=\d") {
      set beresp.grace = std.duration(
        regsub(beresp.http.CDN-Cache-Control, "^.*stale-if-error=(\d+).*$", "\1s"), 0s);
    }
  } else {
    set beresp.uncacheable = true;
    set beresp.ttl = 120s;
  }
  # No do_gzip: it would weaken ETags, and writes with If-Match would be refused. The archive
  # compresses pages itself.
  return (deliver);
}

sub vcl_backend_error {
  # As above: vcl_synth then looks for an old object.
  if (!bereq.uncacheable) {
    return (abandon);
  }
  set beresp.http.Content-Type = "application/problem+json";
  set beresp.http.Cache-Control = "no-store";
  set beresp.http.Retry-After = "5";
  synthetic({"{"type":"about:blank","title":"Unavailable","status":503}"});
  return (deliver);
}

sub vcl_deliver {
  # Once more, with objects that are up to 7 days too old.
  if (resp.status >= 500 && req.restarts == 0 && !req.http.X-Passed) {
    set req.http.X-Stale = "1";
    return (restart);
  }
  # Who changes a record through this server reads the new version at once (RFC 9111, 4.4).
  if (req.method ~ "^(PUT|PATCH|POST|DELETE)$" && req.http.Authorization && resp.status < 400
      && req.url ~ "^[^?]*/api/v2/video/\d") {
    set req.http.X-Purged =
      xkey.softpurge(regsub(req.url, "^[^?]*/api/v2/video/(\d+).*$", "v\1"));
  }
  unset resp.http.CDN-Cache-Control;
  unset resp.http.xkey;
  unset resp.http.Via;
  unset resp.http.X-Varnish;
  if (obj.hits > 0) {
    set resp.http.X-Cache = "hit";
  } else {
    set resp.http.X-Cache = "miss";
  }
  return (deliver);
}

sub vcl_synth {
  if (resp.status == 503 && req.restarts == 0 && !req.http.X-Passed && req.method != "PURGE") {
    set req.http.X-Stale = "1";
    return (restart);
  }
  set resp.http.Cache-Control = "no-store";
  if (resp.status == 503) {
    set resp.http.Content-Type = "application/problem+json";
    set resp.http.Retry-After = "5";
    synthetic({"{"type":"about:blank","title":"Unavailable","status":503}"});
  } else {
    set resp.http.Content-Type = "text/plain";
    synthetic(resp.reason);
  }
  return (deliver);
}
