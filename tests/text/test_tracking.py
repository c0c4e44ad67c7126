"""Tests for tracking parameters: one list for aliases of entries, canonical URLs and links in drafts."""

import pytest

from copydesk.ingest.urls import alias_key
from copydesk.ranking.canonical_url import canonical_url
from copydesk.text.links import comparison_key, strip_tracking
from copydesk.text.tracking import is_tracking

TRACKING = """
    UTM_Source=x utm_id= mtm_kwd=x pk_kwd=x piwik_campaign=x matomo_campaign=x hsa_cam=x itm_source=x stm_source=x
    at_medium=RSS ns_mchannel=rss xtor=RSS-1 fbclid=1 fb_ref=1 fb_source=1 fb_action_ids=1 igsh=1 igshid=1 twclid=1
    __twitter_impression=true ttclid=1 li_fat_id=1 sr_share=facebook gclid=1 gclsrc=1 gbraid=1 wbraid=1 gad_source=1
    gad_campaignid=1 srsltid=1 campaign_id=1 campaign_name=x msclkid=1 guccounter=1 guce_referrer=x yclid=1 ysclid=1
    ymclid=1 _openstat=x mc_cid=1 mc_eid=1 mc_tc=1 _hsenc=x __hssc=x __hstc=x __hsfp=x _hsmi=x hsCtaTracking=x
    mkt_tok=x vero_id=1 vero_conv=1 sc_cid=1 s_cid=1 _bhlid=x _branch_match_id=1 _branch_referrer=x
    __readwiseLocation=x rb_clickid=1 oly_anon_id=1 oly_enc_id=1 wickedid=1 wt_mc=x hmb_source=x cmp=rss cmpid=x
    ocid=x icid=x ncid=x maca=x smid=x smtyp=x ftag=x taid=x traffic_source=rss rss=1 jsessionid=1 PHPSESSID=1
    partner=rss oc=5 ref=kottke.org ref=rss source=rss----7f60-4 src=twitter from=newsletter via=hn ref_src=x
"""
IDENTIFYING = """
    id=1 p=12 page=2 v=x q=utm_source ref=main ref=2 source=3 src=report.pdf from=2026-01-01 via=train partner=acme
    oc=A71X oc=51 feed=2 at=1 pk=7 ns=3 utm=1 comp=1 campaign=7 publication_id=4
"""


@pytest.mark.parametrize("pair", TRACKING.split())
def test_tracking_parameter_is_dropped_everywhere(pair: str) -> None:
    name, _, value = pair.partition("=")
    assert is_tracking(name, value)
    tracked, plain = f"https://site.example/a?id=1&{pair}&x=2", "https://site.example/a?id=1&x=2"
    assert strip_tracking(tracked) == plain
    assert comparison_key(tracked) == comparison_key(plain)
    assert alias_key(tracked) == alias_key(plain)
    assert canonical_url(tracked) == canonical_url(plain)


@pytest.mark.parametrize("pair", IDENTIFYING.split())
def test_identifying_parameter_is_kept_everywhere(pair: str) -> None:
    url, other = f"https://site.example/a?{pair}", "https://site.example/a"
    assert strip_tracking(url) == url
    for create_key in (comparison_key, alias_key, canonical_url):
        assert create_key(url) != create_key(other)


def test_only_query_is_searched_for_tracking_parameters() -> None:
    for url in ("https://site.example/utm_source=x", "https://site.example/a#?utm_source=x", "https://site.example/a?"):
        assert strip_tracking(url) == url
    assert strip_tracking("https://site.example/a?fbclid=1#part") == "https://site.example/a#part"


def test_amp_page_is_same_story_but_other_link() -> None:
    """The AMP version is a page of its own to whoever follows the link."""
    for query in ("?amp=1", "?outputType=amp"):
        url = f"https://site.example/a{query}"
        assert strip_tracking(url) == url
        assert canonical_url(url) == "https://site.example/a"
