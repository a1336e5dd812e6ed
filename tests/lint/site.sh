# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

small_site() {
    fresh
    put docs/pool.html <<'END'
<!doctype html><html><head><link rel="stylesheet" href="../assets/site.css"></head><body>
<h1 id="pools">Pools</h1> <a href="#pools">here</a> <a href="../index.html?q=1#top">up</a> <a href="https://example.org/">out</a>
<!-- <a href="gone.html">not a link</a> --> <code>&lt;a href="gone.html"&gt;</code> <img src="data:image/png;base64,AA==">
</body></html>
END
    put index.html <<<'<p id="top"><a href=".">self</a> <a href="docs/pool.html">pool</a> <img src="a.svg"></p>'
    put a.svg <<<'<svg xmlns="http://www.w3.org/2000/svg"><path id="a"/><use href="#a"/></svg>'
    put assets/site.css <<<'/* url(gone.png) */ body { background: url("../a.svg") }'
    put search/search_index.json <<<'{"docs": [{"location": "docs/pool.html#pools"}]}'
}
walk() { "$@" "$tools/check-site" "$tree"; }
planted_in() {
    small_site
    cat >>"$tree/$1"
}

small_site
walk accepts "check-site accepts pages, anchors, pictures, styles and links to other hosts"
planted_in index.html <<<'<a href="gone.html">x</a>'
walk rejects "check-site rejects a link to a page that is not there" "index.html: gone.html: leads nowhere"
planted_in index.html <<<'<a href="docs/pool.html#gone">x</a>'
walk rejects "check-site rejects an anchor that its page does not have" "docs/pool.html has no place named gone"
planted_in index.html <<<'<img src="gone.png">'
walk rejects "check-site rejects a picture that is not there" "gone.png: leads nowhere"
planted_in index.html <<<'<script src="https://example.org/a.js"></script>'
walk rejects "check-site rejects a script of another host" "is loaded from another host"
planted_in index.html <<<'<img srcset="a.svg 1x, //example.org/a.png 2x">'
walk rejects "check-site rejects a picture of another host" "//example.org/a.png: is loaded from another host"
planted_in assets/site.css <<<'@import "https://example.org/font.css";'
walk rejects "check-site rejects a style of another host" "is loaded from another host"
planted_in assets/site.css <<<'a { background: url(gone.png) }'
walk rejects "check-site rejects a picture of a style that is not there" "gone.png: leads nowhere"
planted_in a.svg <<<'<image href="gone.png"/>'
walk rejects "check-site rejects a picture in a picture that is not there" "gone.png: leads nowhere"
planted_in index.html <<<'<a href="/docs/pool.html">x</a>'
walk rejects "check-site rejects a link from the root of the host" "begins at the root"
planted_in index.html <<<'<a href="../README.html">x</a>'
walk rejects "check-site rejects a link out of the site" "leads out of the site"
planted_in index.html <<<'<a href="file:///etc/passwd">x</a>'
walk rejects "check-site rejects a link to a file of the reader" "no reader can follow file"
planted_in index.html <<<'<a href="docs/pool.html" class="x>y</a>'
walk rejects "check-site rejects a tag that it cannot read" "not well-formed"
small_site
put search/search_index.json <<<'{"docs": [{"location": "docs/pool.html#gone"}]}'
walk rejects "check-site rejects a place that the search alone knows" "has no place named gone"
small_site
put index.html <<<"<code>$tree/docs</code>"
rejects "check-site rejects a path of this machine" "a path of this machine" "$tools/check-site" "$tree" "$tree"
fresh
put a.svg <<<'<svg/>'
walk rejects "check-site rejects a site without pages" "there are no pages"
