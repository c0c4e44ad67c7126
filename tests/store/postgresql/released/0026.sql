CREATE TABLE removed_send (
	delivery_id TEXT COLLATE "C" NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_removed_send PRIMARY KEY (delivery_id, at)
);
CREATE TABLE "user" (
	id TEXT COLLATE "C" NOT NULL, 
	name TEXT COLLATE "C" NOT NULL, 
	time_zone TEXT COLLATE "C" NOT NULL, 
	created_at BIGINT NOT NULL, 
	writers JSON DEFAULT '["offline"]' NOT NULL, 
	ranking JSON DEFAULT '{}' NOT NULL, 
	roles JSON DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_user PRIMARY KEY (id)
);
CREATE TABLE account (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	platform TEXT COLLATE "C" NOT NULL, 
	server TEXT COLLATE "C" NOT NULL, 
	remote_id TEXT COLLATE "C" NOT NULL, 
	name TEXT COLLATE "C" NOT NULL, 
	details JSON NOT NULL, 
	connected_at BIGINT NOT NULL, 
	checked_at BIGINT, 
	trouble TEXT COLLATE "C", 
	owner TEXT COLLATE "C", 
	claim_id TEXT COLLATE "C", 
	lease_until BIGINT, 
	approvals BIGINT DEFAULT 1 NOT NULL, 
	CONSTRAINT pk_account PRIMARY KEY (id), 
	CONSTRAINT fk_account_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT uq_account_user_id_platform_server_remote_id UNIQUE (user_id, platform, server, remote_id)
);
CREATE TABLE bulk_action (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	kind TEXT COLLATE "C" NOT NULL, 
	action TEXT COLLATE "C" NOT NULL, 
	of_bulk_id TEXT COLLATE "C", 
	started_at BIGINT NOT NULL, 
	owner TEXT COLLATE "C" NOT NULL, 
	total BIGINT NOT NULL, 
	request JSON, 
	draft_ids JSON NOT NULL, 
	CONSTRAINT pk_bulk_action PRIMARY KEY (id), 
	CONSTRAINT fk_bulk_action_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_bulk_action_user_id ON bulk_action (user_id);
CREATE TABLE clock_check (
	user_id TEXT COLLATE "C" NOT NULL, 
	boot TEXT COLLATE "C" NOT NULL, 
	wall BIGINT NOT NULL, 
	steady FLOAT NOT NULL, 
	counts_sleep BOOLEAN NOT NULL, 
	seen BIGINT NOT NULL, 
	doubt_since BIGINT, 
	doubt_by FLOAT, 
	CONSTRAINT pk_clock_check PRIMARY KEY (user_id), 
	CONSTRAINT fk_clock_check_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE clock_reading (
	user_id TEXT COLLATE "C" NOT NULL, 
	boot TEXT COLLATE "C" NOT NULL, 
	machine TEXT COLLATE "C" NOT NULL, 
	number BIGINT NOT NULL, 
	wall BIGINT NOT NULL, 
	steady FLOAT, 
	counts_sleep BOOLEAN NOT NULL, 
	seen BIGINT NOT NULL, 
	doubt_since BIGINT, 
	doubt_by FLOAT, 
	CONSTRAINT pk_clock_reading PRIMARY KEY (user_id, boot), 
	CONSTRAINT fk_clock_reading_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE decision_time (
	rid BIGSERIAL NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	at BIGINT NOT NULL, 
	seconds FLOAT NOT NULL, 
	CONSTRAINT pk_decision_time PRIMARY KEY (rid), 
	CONSTRAINT fk_decision_time_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_decision_time_user_id_rid ON decision_time (user_id, rid);
CREATE TABLE draft_count (
	user_id TEXT COLLATE "C" NOT NULL, 
	source_id TEXT COLLATE "C" NOT NULL, 
	status TEXT COLLATE "C" NOT NULL, 
	archived BOOLEAN NOT NULL, 
	drafts BIGINT NOT NULL, 
	CONSTRAINT pk_draft_count PRIMARY KEY (user_id, source_id, status, archived), 
	CONSTRAINT fk_draft_count_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE engagement_quarter_hour (
	user_id TEXT COLLATE "C" NOT NULL, 
	quarter_hour BIGINT NOT NULL, 
	platform TEXT COLLATE "C" NOT NULL, 
	format TEXT COLLATE "C" NOT NULL, 
	posts BIGINT DEFAULT 0 NOT NULL, 
	measured BIGINT DEFAULT 0 NOT NULL, 
	rated BIGINT DEFAULT 0 NOT NULL, 
	likes BIGINT DEFAULT 0 NOT NULL, 
	replies BIGINT DEFAULT 0 NOT NULL, 
	reposts BIGINT DEFAULT 0 NOT NULL, 
	impressions BIGINT DEFAULT 0 NOT NULL, 
	clicks BIGINT DEFAULT 0 NOT NULL, 
	rated_interactions BIGINT DEFAULT 0 NOT NULL, 
	rated_impressions BIGINT DEFAULT 0 NOT NULL, 
	with_interactions BIGINT DEFAULT 0 NOT NULL, 
	with_likes BIGINT DEFAULT 0 NOT NULL, 
	with_replies BIGINT DEFAULT 0 NOT NULL, 
	with_reposts BIGINT DEFAULT 0 NOT NULL, 
	with_impressions BIGINT DEFAULT 0 NOT NULL, 
	with_clicks BIGINT DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_engagement_quarter_hour PRIMARY KEY (user_id, quarter_hour, platform, format), 
	CONSTRAINT fk_engagement_quarter_hour_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE engagement_total (
	user_id TEXT COLLATE "C" NOT NULL, 
	platform TEXT COLLATE "C" NOT NULL, 
	format TEXT COLLATE "C" NOT NULL, 
	posts BIGINT DEFAULT 0 NOT NULL, 
	measured BIGINT DEFAULT 0 NOT NULL, 
	rated BIGINT DEFAULT 0 NOT NULL, 
	likes BIGINT DEFAULT 0 NOT NULL, 
	replies BIGINT DEFAULT 0 NOT NULL, 
	reposts BIGINT DEFAULT 0 NOT NULL, 
	impressions BIGINT DEFAULT 0 NOT NULL, 
	clicks BIGINT DEFAULT 0 NOT NULL, 
	rated_interactions BIGINT DEFAULT 0 NOT NULL, 
	rated_impressions BIGINT DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_engagement_total PRIMARY KEY (user_id, platform, format), 
	CONSTRAINT fk_engagement_total_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE event (
	user_id TEXT COLLATE "C" NOT NULL, 
	id BIGINT NOT NULL, 
	type TEXT COLLATE "C" NOT NULL, 
	created_at BIGINT NOT NULL, 
	data TEXT COLLATE "C" NOT NULL, 
	CONSTRAINT pk_event PRIMARY KEY (user_id, id), 
	CONSTRAINT fk_event_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE experiment (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	name TEXT COLLATE "C" NOT NULL, 
	parameter TEXT COLLATE "C" NOT NULL, 
	status TEXT COLLATE "C" NOT NULL, 
	variants JSON NOT NULL, 
	results JSON DEFAULT '{}' NOT NULL, 
	started_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	created_at BIGINT NOT NULL, 
	plan JSON DEFAULT '{}' NOT NULL, 
	aa_test BOOLEAN DEFAULT FALSE NOT NULL, 
	CONSTRAINT pk_experiment PRIMARY KEY (id), 
	CONSTRAINT fk_experiment_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT ck_experiment_status CHECK (status IN ('active', 'concluded', 'archived'))
);
CREATE INDEX ix_experiment_user_id_status_id ON experiment (user_id, status, id);
CREATE TABLE host_cooldown (
	user_id TEXT COLLATE "C" NOT NULL, 
	host TEXT COLLATE "C" NOT NULL, 
	until BIGINT NOT NULL, 
	CONSTRAINT pk_host_cooldown PRIMARY KEY (user_id, host), 
	CONSTRAINT fk_host_cooldown_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE idempotency_key (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	key TEXT COLLATE "C" NOT NULL, 
	fingerprint BYTEA NOT NULL, 
	owner TEXT COLLATE "C" NOT NULL, 
	created_at BIGINT NOT NULL, 
	response BYTEA, 
	CONSTRAINT pk_idempotency_key PRIMARY KEY (id), 
	CONSTRAINT uq_idempotency_key_user_id_key UNIQUE (user_id, key), 
	CONSTRAINT fk_idempotency_key_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_idempotency_key_user_id_created_at ON idempotency_key (user_id, created_at);
CREATE TABLE job (
	user_id TEXT COLLATE "C" NOT NULL, 
	name TEXT COLLATE "C" NOT NULL, 
	owner TEXT COLLATE "C", 
	claim_id TEXT COLLATE "C", 
	lease_until BIGINT, 
	began_at BIGINT, 
	ended_at BIGINT, 
	failed_at BIGINT, 
	error TEXT COLLATE "C", 
	CONSTRAINT pk_job PRIMARY KEY (user_id, name), 
	CONSTRAINT fk_job_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE learning (
	user_id TEXT COLLATE "C" NOT NULL, 
	since BIGINT, 
	since_before BIGINT, 
	reset_at BIGINT, 
	confidence_decisions BIGINT DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_learning PRIMARY KEY (user_id), 
	CONSTRAINT fk_learning_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE model_spending (
	user_id TEXT COLLATE "C" NOT NULL, 
	month TEXT COLLATE "C" NOT NULL, 
	requests BIGINT NOT NULL, 
	unpriced BIGINT NOT NULL, 
	cost FLOAT NOT NULL, 
	CONSTRAINT pk_model_spending PRIMARY KEY (user_id, month), 
	CONSTRAINT fk_model_spending_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE run (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	status TEXT COLLATE "C" NOT NULL, 
	stage TEXT COLLATE "C", 
	started_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	owner TEXT COLLATE "C", 
	lease_until BIGINT, 
	cancel_requested BOOLEAN DEFAULT FALSE NOT NULL, 
	error TEXT COLLATE "C", 
	error_category TEXT COLLATE "C", 
	requested JSON DEFAULT '{}' NOT NULL, 
	stats JSON DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_run PRIMARY KEY (id), 
	CONSTRAINT ck_run_status CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'interrupted')), 
	CONSTRAINT fk_run_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX uq_run_user_id_running ON run (user_id) WHERE status = 'running';
CREATE INDEX ix_run_user_id_status_id ON run (user_id, status, id);
CREATE INDEX ix_run_user_id_id ON run (user_id, id);
CREATE TABLE run_error (
	user_id TEXT COLLATE "C" NOT NULL, 
	category TEXT COLLATE "C" NOT NULL, 
	runs BIGINT DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_run_error PRIMARY KEY (user_id, category), 
	CONSTRAINT fk_run_error_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE run_total (
	user_id TEXT COLLATE "C" NOT NULL, 
	ended BIGINT DEFAULT 0 NOT NULL, 
	succeeded BIGINT DEFAULT 0 NOT NULL, 
	microseconds BIGINT DEFAULT 0 NOT NULL, 
	items BIGINT DEFAULT 0 NOT NULL, 
	drafts BIGINT DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_run_total PRIMARY KEY (user_id), 
	CONSTRAINT fk_run_total_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE schedule_slot (
	user_id TEXT COLLATE "C" NOT NULL, 
	day_of_week BIGINT NOT NULL, 
	hour BIGINT NOT NULL, 
	minute BIGINT NOT NULL, 
	CONSTRAINT pk_schedule_slot PRIMARY KEY (user_id, day_of_week, hour, minute), 
	CONSTRAINT ck_schedule_slot_minute CHECK (minute BETWEEN 0 AND 59), 
	CONSTRAINT fk_schedule_slot_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT ck_schedule_slot_hour CHECK (hour BETWEEN 0 AND 23), 
	CONSTRAINT ck_schedule_slot_day_of_week CHECK (day_of_week BETWEEN 0 AND 6)
);
CREATE TABLE source (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	type TEXT COLLATE "C" NOT NULL, 
	name TEXT COLLATE "C" NOT NULL, 
	url TEXT COLLATE "C", 
	config JSON, 
	enabled BOOLEAN DEFAULT TRUE NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	item_count BIGINT DEFAULT 0 NOT NULL, 
	last_fetch BIGINT, 
	next_at BIGINT, 
	not_before BIGINT, 
	health TEXT COLLATE "C" DEFAULT 'unknown' NOT NULL, 
	fail_count BIGINT DEFAULT 0 NOT NULL, 
	last_error TEXT COLLATE "C", 
	judged_by TEXT COLLATE "C", 
	"fetch" JSON DEFAULT '{}' NOT NULL, 
	named_by_user BOOLEAN DEFAULT FALSE NOT NULL, 
	CONSTRAINT pk_source PRIMARY KEY (id), 
	CONSTRAINT fk_source_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT ck_source_health CHECK (health IN ('healthy', 'degraded', 'stale', 'error', 'unknown'))
);
CREATE INDEX ix_source_enabled_next_at_user_id ON source (enabled, next_at NULLS FIRST, user_id);
CREATE INDEX ix_source_user_id_next_at ON source (user_id, next_at NULLS FIRST);
CREATE TABLE stored_image (
	user_id TEXT COLLATE "C" NOT NULL, 
	digest TEXT COLLATE "C" NOT NULL, 
	stored_at BIGINT NOT NULL, 
	CONSTRAINT pk_stored_image PRIMARY KEY (user_id, digest), 
	CONSTRAINT fk_stored_image_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_stored_image_user_id_stored_at ON stored_image (user_id, stored_at);
CREATE TABLE tag (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	name TEXT COLLATE "C" NOT NULL, 
	CONSTRAINT pk_tag PRIMARY KEY (id), 
	CONSTRAINT fk_tag_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT uq_tag_user_id_name UNIQUE (user_id, name)
);
CREATE TABLE token (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	name TEXT COLLATE "C" NOT NULL, 
	scope TEXT COLLATE "C" NOT NULL, 
	prefix TEXT COLLATE "C" NOT NULL, 
	hash BYTEA NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT, 
	revoked_at BIGINT, 
	CONSTRAINT pk_token PRIMARY KEY (id), 
	CONSTRAINT uq_token_hash UNIQUE (hash), 
	CONSTRAINT fk_token_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT ck_token_scope CHECK (scope IN ('read', 'draft', 'review', 'publish'))
);
CREATE INDEX ix_token_user_id_id ON token (user_id, id);
CREATE TABLE voice (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	style TEXT COLLATE "C" DEFAULT '' NOT NULL, 
	avoid JSON DEFAULT '[]' NOT NULL, 
	examples JSON DEFAULT '[]' NOT NULL, 
	formats JSON DEFAULT '{}' NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	hashtag_list JSON DEFAULT '[]' NOT NULL, 
	CONSTRAINT pk_voice PRIMARY KEY (id), 
	CONSTRAINT uq_voice_user_id UNIQUE (user_id), 
	CONSTRAINT fk_voice_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE webhook (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	url TEXT COLLATE "C" NOT NULL, 
	types JSON, 
	created_at BIGINT NOT NULL, 
	secret TEXT COLLATE "C", 
	failures BIGINT DEFAULT 0 NOT NULL, 
	failing_since BIGINT, 
	not_before BIGINT, 
	disabled_at BIGINT, 
	CONSTRAINT pk_webhook PRIMARY KEY (id), 
	CONSTRAINT fk_webhook_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_webhook_user_id_id ON webhook (user_id, id);
CREATE TABLE writer (
	user_id TEXT COLLATE "C" NOT NULL, 
	name TEXT COLLATE "C" NOT NULL, 
	endpoint JSON NOT NULL, 
	created_at BIGINT NOT NULL, 
	tested_at BIGINT, 
	error TEXT COLLATE "C", 
	CONSTRAINT pk_writer PRIMARY KEY (user_id, name), 
	CONSTRAINT fk_writer_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE TABLE experiment_turn (
	user_id TEXT COLLATE "C" NOT NULL, 
	experiment_id TEXT COLLATE "C" NOT NULL, 
	stratum TEXT COLLATE "C" NOT NULL, 
	next BIGINT NOT NULL, 
	CONSTRAINT pk_experiment_turn PRIMARY KEY (user_id, experiment_id, stratum), 
	CONSTRAINT fk_experiment_turn_experiment_id FOREIGN KEY(experiment_id) REFERENCES experiment (id) ON DELETE CASCADE, 
	CONSTRAINT fk_experiment_turn_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_experiment_turn_experiment_id ON experiment_turn (experiment_id);
CREATE TABLE item (
	rid BIGSERIAL NOT NULL, 
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	source_id TEXT COLLATE "C", 
	state TEXT COLLATE "C" NOT NULL, 
	story_id TEXT COLLATE "C" NOT NULL, 
	published BIGINT NOT NULL, 
	seen BIGINT NOT NULL, 
	ident TEXT COLLATE "C" NOT NULL, 
	alias TEXT COLLATE "C" NOT NULL, 
	canonical TEXT COLLATE "C" DEFAULT '' NOT NULL, 
	content_hash BYTEA, 
	points BIGINT, 
	comments BIGINT, 
	language TEXT COLLATE "C", 
	publisher TEXT COLLATE "C", 
	author TEXT COLLATE "C", 
	title TEXT COLLATE "C" NOT NULL, 
	url TEXT COLLATE "C", 
	image TEXT COLLATE "C", 
	image_alt TEXT COLLATE "C", 
	discussion TEXT COLLATE "C", 
	reason TEXT COLLATE "C", 
	tags JSON DEFAULT '[]' NOT NULL, 
	prompt TEXT COLLATE "C", 
	summary TEXT COLLATE "C" DEFAULT '' NOT NULL, 
	text TEXT COLLATE "C" DEFAULT '' NOT NULL, 
	CONSTRAINT pk_item PRIMARY KEY (rid), 
	CONSTRAINT uq_item_id UNIQUE (id), 
	CONSTRAINT fk_item_source_id FOREIGN KEY(source_id) REFERENCES source (id) ON DELETE CASCADE, 
	CONSTRAINT uq_item_source_id_ident UNIQUE (source_id, ident), 
	CONSTRAINT fk_item_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_item_user_id_published ON item (user_id, published);
CREATE INDEX ix_item_user_id_state_published_filtered ON item (user_id, state, published) WHERE state = 'filtered';
CREATE INDEX ix_item_source_id_alias ON item (source_id NULLS FIRST, alias);
CREATE INDEX ix_item_user_id_state_published_new ON item (user_id, state, published) WHERE state = 'new';
CREATE TABLE webhook_delivery (
	webhook_id TEXT COLLATE "C" NOT NULL, 
	event_id BIGINT NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	attempts BIGINT DEFAULT 0 NOT NULL, 
	attempted_at BIGINT, 
	status BIGINT, 
	error TEXT COLLATE "C", 
	next_at BIGINT, 
	delivered_at BIGINT, 
	CONSTRAINT pk_webhook_delivery PRIMARY KEY (webhook_id, event_id), 
	CONSTRAINT fk_webhook_delivery_webhook_id FOREIGN KEY(webhook_id) REFERENCES webhook (id) ON DELETE CASCADE, 
	CONSTRAINT fk_webhook_delivery_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_webhook_delivery_user_id_event_id ON webhook_delivery (user_id, event_id);
CREATE INDEX ix_webhook_delivery_next_at ON webhook_delivery (next_at NULLS FIRST, user_id) WHERE next_at IS NOT NULL;
CREATE INDEX ix_webhook_delivery_user_id_next_at ON webhook_delivery (user_id, next_at NULLS FIRST) WHERE next_at IS NOT NULL;
CREATE TABLE draft (
	rid BIGSERIAL NOT NULL, 
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	item_id TEXT COLLATE "C" NOT NULL, 
	source_id TEXT COLLATE "C", 
	source_type TEXT COLLATE "C", 
	story_id TEXT COLLATE "C" NOT NULL, 
	format TEXT COLLATE "C" NOT NULL, 
	status TEXT COLLATE "C" NOT NULL, 
	origin TEXT COLLATE "C" NOT NULL, 
	version BIGINT DEFAULT 1 NOT NULL, 
	confidence FLOAT NOT NULL, 
	total_score FLOAT, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	scheduled_at BIGINT, 
	scheduled_wall TEXT COLLATE "C", 
	scheduled_zone TEXT COLLATE "C", 
	posted_at BIGINT, 
	archived_at BIGINT, 
	undo_rid BIGINT, 
	redo_rid BIGINT, 
	post_id TEXT COLLATE "C", 
	regenerated_from_id TEXT COLLATE "C", 
	run_id TEXT COLLATE "C", 
	writer TEXT COLLATE "C" DEFAULT '' NOT NULL, 
	target_platforms JSON DEFAULT '[]' NOT NULL, 
	feedback TEXT COLLATE "C", 
	rejection_feedback TEXT COLLATE "C", 
	last_error TEXT COLLATE "C", 
	about TEXT COLLATE "C" DEFAULT '' NOT NULL, 
	text TEXT COLLATE "C" NOT NULL, 
	checks JSON DEFAULT '{}' NOT NULL, 
	sentences JSON DEFAULT '[]' NOT NULL, 
	score JSON, 
	agent JSON, 
	confidence_known BOOLEAN DEFAULT FALSE NOT NULL, 
	CONSTRAINT pk_draft PRIMARY KEY (rid), 
	CONSTRAINT uq_draft_id UNIQUE (id), 
	CONSTRAINT ck_draft_format CHECK (format IN ('SHORT', 'THREAD', 'BLOG')), 
	CONSTRAINT fk_draft_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT ck_draft_status CHECK (status IN ('pending_generation', 'generation_failed', 'pending_review', 'awaiting_review', 'approved', 'rejected', 'changes_requested', 'pending_regeneration', 'scheduled', 'posting', 'missed', 'posted')), 
	CONSTRAINT fk_draft_item_id FOREIGN KEY(item_id) REFERENCES item (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_regenerated_from_id FOREIGN KEY(regenerated_from_id) REFERENCES draft (id) ON DELETE SET NULL, 
	CONSTRAINT fk_draft_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE SET NULL
);
CREATE INDEX ix_draft_user_id_posted_at ON draft (user_id, posted_at NULLS FIRST) WHERE posted_at IS NOT NULL;
CREATE INDEX ix_draft_user_id_undo_rid ON draft (user_id, undo_rid NULLS FIRST) WHERE undo_rid IS NOT NULL;
CREATE INDEX ix_draft_user_id_source_id_id ON draft (user_id, source_id NULLS FIRST, id);
CREATE INDEX ix_draft_run_id ON draft (run_id NULLS FIRST);
CREATE UNIQUE INDEX uq_draft_user_id_story_id_format_pipeline ON draft (user_id, story_id, format) WHERE origin = 'pipeline';
CREATE INDEX ix_draft_item_id ON draft (item_id);
CREATE INDEX ix_draft_user_id_updated_at_pending ON draft (user_id, updated_at, id) WHERE status IN ('pending_generation', 'pending_regeneration');
CREATE INDEX ix_draft_user_id_scheduled_at_id ON draft (user_id, scheduled_at NULLS FIRST, id) WHERE scheduled_at IS NOT NULL;
CREATE INDEX ix_draft_user_id_format_id ON draft (user_id, format, id);
CREATE INDEX ix_draft_user_id_status_confidence_to_review ON draft (user_id, status, confidence, id) WHERE status IN ('pending_review', 'awaiting_review', 'changes_requested') AND archived_at IS NULL;
CREATE INDEX ix_draft_user_id_status_id_archived_at ON draft (user_id, status, id, archived_at NULLS FIRST);
CREATE INDEX ix_draft_user_id_status_scheduled_at_id_archived_at ON draft (user_id, status, scheduled_at NULLS FIRST, id, archived_at NULLS FIRST) WHERE scheduled_at IS NOT NULL;
CREATE INDEX ix_draft_regenerated_from_id ON draft (regenerated_from_id NULLS FIRST);
CREATE INDEX ix_draft_user_id_status_source_id_to_review ON draft (user_id, status, source_id NULLS FIRST, id) WHERE status IN ('pending_review', 'awaiting_review', 'changes_requested') AND archived_at IS NULL;
CREATE INDEX ix_draft_user_id_source_type_id ON draft (user_id, source_type NULLS FIRST, id);
CREATE INDEX ix_draft_user_id_redo_rid ON draft (user_id, redo_rid NULLS FIRST) WHERE redo_rid IS NOT NULL;
CREATE INDEX ix_draft_scheduled_at_scheduled ON draft (scheduled_at NULLS FIRST, user_id) WHERE status = 'scheduled';
CREATE INDEX ix_draft_user_id_status_total_score_id ON draft (user_id, status, total_score NULLS FIRST, id) WHERE archived_at IS NULL;
CREATE INDEX ix_draft_user_id_id_archived_at ON draft (user_id, id, archived_at NULLS FIRST);
CREATE INDEX ix_draft_user_id_status_format_id ON draft (user_id, status, format, id);
CREATE INDEX ix_draft_user_id_status_id_archived_at_agent ON draft (user_id, status, id, archived_at NULLS FIRST) WHERE agent IS NOT NULL;
CREATE INDEX ix_draft_user_id_id_end ON draft (user_id, right(id, 4));
CREATE INDEX ix_draft_user_id_id_archived ON draft (user_id, id) WHERE archived_at IS NOT NULL;
CREATE INDEX ix_draft_user_id_id_scheduled_at ON draft (user_id, id, scheduled_at NULLS FIRST) WHERE scheduled_at IS NOT NULL;
CREATE INDEX ix_draft_user_id_story_id_generate ON draft (user_id, story_id) WHERE origin = 'generate';
CREATE TABLE draft_approval (
	draft_id TEXT COLLATE "C" NOT NULL, 
	reviewer TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_draft_approval PRIMARY KEY (draft_id, reviewer), 
	CONSTRAINT fk_draft_approval_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_approval_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_approval_user_id ON draft_approval (user_id);
CREATE TABLE draft_comment (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	draft_id TEXT COLLATE "C" NOT NULL, 
	reviewer TEXT COLLATE "C" NOT NULL, 
	at BIGINT NOT NULL, 
	resolved_at BIGINT, 
	resolved_by TEXT COLLATE "C", 
	position BIGINT, 
	quote TEXT COLLATE "C" DEFAULT '' NOT NULL, 
	text TEXT COLLATE "C" NOT NULL, 
	CONSTRAINT pk_draft_comment PRIMARY KEY (id), 
	CONSTRAINT fk_draft_comment_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_comment_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_comment_user_id ON draft_comment (user_id);
CREATE INDEX ix_draft_comment_draft_id_id ON draft_comment (draft_id, id);
CREATE TABLE draft_edit (
	draft_id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	lease_id TEXT COLLATE "C" NOT NULL, 
	reviewer TEXT COLLATE "C" NOT NULL, 
	lease_until BIGINT NOT NULL, 
	version BIGINT NOT NULL, 
	text TEXT COLLATE "C", 
	CONSTRAINT pk_draft_edit PRIMARY KEY (draft_id), 
	CONSTRAINT fk_draft_edit_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_edit_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_edit_user_id ON draft_edit (user_id);
CREATE TABLE draft_event (
	rid BIGSERIAL NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	draft_id TEXT COLLATE "C" NOT NULL, 
	version BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	who TEXT COLLATE "C" NOT NULL, 
	kind TEXT COLLATE "C" NOT NULL, 
	action TEXT COLLATE "C" NOT NULL, 
	bulk_id TEXT COLLATE "C", 
	of_rid BIGINT, 
	undo_rid BIGINT, 
	redo_rid BIGINT, 
	feedback TEXT COLLATE "C", 
	before JSON DEFAULT '{}' NOT NULL, 
	after JSON DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_draft_event PRIMARY KEY (rid), 
	CONSTRAINT uq_draft_event_draft_id_version UNIQUE (draft_id, version), 
	CONSTRAINT fk_draft_event_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_event_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_event_user_id_bulk_id ON draft_event (user_id, bulk_id NULLS FIRST);
CREATE INDEX ix_draft_event_user_id_change ON draft_event (user_id, rid) WHERE kind = 'change';
CREATE TABLE draft_image (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	draft_id TEXT COLLATE "C" NOT NULL, 
	url TEXT COLLATE "C" NOT NULL, 
	alt TEXT COLLATE "C", 
	position BIGINT NOT NULL, 
	source TEXT COLLATE "C" NOT NULL, 
	stored TEXT COLLATE "C", 
	proposed BOOLEAN DEFAULT FALSE NOT NULL, 
	agency TEXT COLLATE "C", 
	CONSTRAINT pk_draft_image PRIMARY KEY (id), 
	CONSTRAINT fk_draft_image_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_image_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE, 
	CONSTRAINT ck_draft_image_source CHECK (source IN ('OG', 'UPLOAD', 'AI_PROVIDER_A', 'AI_PROVIDER_B'))
);
CREATE INDEX ix_draft_image_draft_id_position ON draft_image (draft_id, position);
CREATE INDEX ix_draft_image_user_id ON draft_image (user_id);
CREATE TABLE draft_item (
	draft_id TEXT COLLATE "C" NOT NULL, 
	position BIGINT NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	item_id TEXT COLLATE "C" NOT NULL, 
	CONSTRAINT pk_draft_item PRIMARY KEY (draft_id, position), 
	CONSTRAINT fk_draft_item_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_item_item_id FOREIGN KEY(item_id) REFERENCES item (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_item_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_item_item_id ON draft_item (item_id);
CREATE INDEX ix_draft_item_user_id ON draft_item (user_id);
CREATE TABLE draft_tag (
	tag_id TEXT COLLATE "C" NOT NULL, 
	draft_id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	CONSTRAINT pk_draft_tag PRIMARY KEY (tag_id, draft_id), 
	CONSTRAINT fk_draft_tag_tag_id FOREIGN KEY(tag_id) REFERENCES tag (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_tag_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_tag_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_tag_draft_id_user_id ON draft_tag (draft_id, user_id);
CREATE INDEX ix_draft_tag_user_id ON draft_tag (user_id);
CREATE TABLE draft_variant (
	draft_id TEXT COLLATE "C" NOT NULL, 
	experiment_id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	variant_id TEXT COLLATE "C" NOT NULL, 
	CONSTRAINT pk_draft_variant PRIMARY KEY (draft_id, experiment_id), 
	CONSTRAINT fk_draft_variant_experiment_id FOREIGN KEY(experiment_id) REFERENCES experiment (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_variant_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_variant_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_variant_user_id_experiment_id ON draft_variant (user_id, experiment_id);
CREATE INDEX ix_draft_variant_experiment_id ON draft_variant (experiment_id);
CREATE TABLE draft_viewer (
	draft_id TEXT COLLATE "C" NOT NULL, 
	reviewer TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	until BIGINT NOT NULL, 
	CONSTRAINT pk_draft_viewer PRIMARY KEY (draft_id, reviewer), 
	CONSTRAINT fk_draft_viewer_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE, 
	CONSTRAINT fk_draft_viewer_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_draft_viewer_user_id_until ON draft_viewer (user_id, until);
CREATE TABLE engagement (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	draft_id TEXT COLLATE "C" NOT NULL, 
	platform TEXT COLLATE "C" NOT NULL, 
	account TEXT COLLATE "C" DEFAULT '' NOT NULL, 
	format TEXT COLLATE "C" NOT NULL, 
	post_id TEXT COLLATE "C", 
	status TEXT COLLATE "C" NOT NULL, 
	retry_count BIGINT DEFAULT 0 NOT NULL, 
	retry_after BIGINT, 
	error_message TEXT COLLATE "C", 
	failed_at BIGINT, 
	likes BIGINT, 
	replies BIGINT, 
	reposts BIGINT, 
	impressions BIGINT, 
	clicks BIGINT, 
	measured_at BIGINT, 
	created_at BIGINT NOT NULL, 
	interactions BIGINT GENERATED ALWAYS AS (CASE WHEN coalesce(likes, replies, reposts, clicks) IS NOT NULL THEN coalesce(likes, 0) + coalesce(replies, 0) + coalesce(reposts, 0) + coalesce(clicks, 0) END) STORED, 
	engagement_rate FLOAT GENERATED ALWAYS AS (CASE WHEN impressions > 0 AND coalesce(likes, replies, reposts, clicks) IS NOT NULL
    THEN least(1.0, CAST(coalesce(likes, 0) + coalesce(replies, 0) + coalesce(reposts, 0) + coalesce(clicks, 0)
        AS double precision) / impressions) END) STORED, 
	published_at BIGINT, 
	CONSTRAINT pk_engagement PRIMARY KEY (id), 
	CONSTRAINT fk_engagement_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT ck_engagement_status CHECK (status IN ('pending', 'posted', 'failed', 'abandoned')), 
	CONSTRAINT ck_engagement_format CHECK (format IN ('SHORT', 'THREAD', 'BLOG')), 
	CONSTRAINT uq_engagement_draft_id_platform_account UNIQUE (draft_id, platform, account), 
	CONSTRAINT fk_engagement_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE
);
CREATE INDEX ix_engagement_user_id_published_at ON engagement (user_id, published_at NULLS FIRST) WHERE status = 'posted';
CREATE INDEX ix_engagement_top_by_rate ON engagement (user_id, engagement_rate NULLS FIRST, interactions NULLS FIRST, id) WHERE status = 'posted';
CREATE INDEX ix_engagement_user_id_status_retry_after ON engagement (user_id, status, retry_after NULLS FIRST);
CREATE INDEX ix_engagement_user_id_id_live ON engagement (user_id, id) WHERE status = 'posted';
CREATE INDEX ix_engagement_top_by_interactions ON engagement (user_id, interactions NULLS FIRST, engagement_rate NULLS FIRST, id) WHERE status = 'posted';
CREATE TABLE generation (
	draft_id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	claim_id TEXT COLLATE "C" NOT NULL, 
	owner TEXT COLLATE "C" NOT NULL, 
	lease_until BIGINT NOT NULL, 
	attempts BIGINT NOT NULL, 
	CONSTRAINT pk_generation PRIMARY KEY (draft_id), 
	CONSTRAINT fk_generation_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE, 
	CONSTRAINT fk_generation_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_generation_user_id ON generation (user_id);
CREATE TABLE model_request (
	draft_id TEXT COLLATE "C" NOT NULL, 
	position BIGINT NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	request JSON NOT NULL, 
	CONSTRAINT pk_model_request PRIMARY KEY (draft_id, position), 
	CONSTRAINT fk_model_request_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE, 
	CONSTRAINT fk_model_request_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_model_request_user_id ON model_request (user_id);
CREATE TABLE rejection_rule (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	kind TEXT COLLATE "C" NOT NULL, 
	term TEXT COLLATE "C" NOT NULL, 
	draft_id TEXT COLLATE "C", 
	reason TEXT COLLATE "C" DEFAULT '' NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	enabled BOOLEAN DEFAULT TRUE NOT NULL, 
	CONSTRAINT pk_rejection_rule PRIMARY KEY (id), 
	CONSTRAINT fk_rejection_rule_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE SET NULL, 
	CONSTRAINT uq_rejection_rule_user_id_kind_term UNIQUE (user_id, kind, term), 
	CONSTRAINT fk_rejection_rule_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_rejection_rule_draft_id ON rejection_rule (draft_id NULLS FIRST);
CREATE TABLE unsaved_edit (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	draft_id TEXT COLLATE "C" NOT NULL, 
	reviewer TEXT COLLATE "C" NOT NULL, 
	at BIGINT NOT NULL, 
	version BIGINT NOT NULL, 
	text TEXT COLLATE "C" NOT NULL, 
	CONSTRAINT pk_unsaved_edit PRIMARY KEY (id), 
	CONSTRAINT fk_unsaved_edit_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE, 
	CONSTRAINT fk_unsaved_edit_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_unsaved_edit_user_id ON unsaved_edit (user_id);
CREATE INDEX ix_unsaved_edit_draft_id_id ON unsaved_edit (draft_id, id);
CREATE TABLE delivery (
	id TEXT COLLATE "C" NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	draft_id TEXT COLLATE "C" NOT NULL, 
	account_id TEXT COLLATE "C", 
	state TEXT COLLATE "C" NOT NULL, 
	version BIGINT DEFAULT 0 NOT NULL, 
	not_before BIGINT, 
	due_at BIGINT NOT NULL, 
	seed TEXT COLLATE "C" NOT NULL, 
	anyway BOOLEAN DEFAULT FALSE NOT NULL, 
	digest TEXT COLLATE "C" NOT NULL, 
	sent_at BIGINT, 
	figures_at BIGINT, 
	gone_at BIGINT, 
	progress JSON NOT NULL, 
	intent JSON, 
	identity TEXT COLLATE "C", 
	CONSTRAINT pk_delivery PRIMARY KEY (id), 
	CONSTRAINT fk_delivery_account_id FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE SET NULL, 
	CONSTRAINT fk_delivery_draft_id FOREIGN KEY(draft_id) REFERENCES draft (id) ON DELETE CASCADE, 
	CONSTRAINT fk_delivery_id FOREIGN KEY(id) REFERENCES engagement (id) ON DELETE CASCADE, 
	CONSTRAINT fk_delivery_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT ck_delivery_state CHECK (state IN ('planned', 'sending', 'unknown', 'needs_user', 'sent', 'failed', 'abandoned'))
);
CREATE INDEX ix_delivery_due_at_planned ON delivery (due_at, user_id) WHERE state = 'planned';
CREATE INDEX ix_delivery_user_id_figures_at ON delivery (user_id, figures_at NULLS FIRST) WHERE figures_at IS NOT NULL;
CREATE INDEX ix_delivery_user_id_account_id_open ON delivery (user_id, account_id NULLS FIRST, not_before NULLS FIRST) WHERE state IN ('planned', 'sending', 'unknown');
CREATE INDEX ix_delivery_user_id_sent_at ON delivery (user_id, sent_at NULLS FIRST) WHERE sent_at IS NOT NULL;
CREATE INDEX ix_delivery_user_id_id ON delivery (user_id, id);
CREATE INDEX ix_delivery_user_id_id_end ON delivery (user_id, right(id, 4));
CREATE INDEX ix_delivery_not_before_open ON delivery (not_before NULLS FIRST, user_id) WHERE state IN ('planned', 'sending', 'unknown');
CREATE INDEX ix_delivery_account_id ON delivery (account_id NULLS FIRST);
CREATE INDEX ix_delivery_figures_at ON delivery (figures_at NULLS FIRST, user_id) WHERE figures_at IS NOT NULL;
CREATE INDEX ix_delivery_user_id_digest ON delivery (user_id, digest);
CREATE INDEX ix_delivery_draft_id ON delivery (draft_id);
CREATE TABLE engagement_reading (
	rid BIGSERIAL NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	engagement_id TEXT COLLATE "C" NOT NULL, 
	at BIGINT NOT NULL, 
	by_hand BOOLEAN NOT NULL, 
	likes BIGINT, 
	replies BIGINT, 
	reposts BIGINT, 
	impressions BIGINT, 
	clicks BIGINT, 
	CONSTRAINT pk_engagement_reading PRIMARY KEY (rid), 
	CONSTRAINT fk_engagement_reading_engagement_id FOREIGN KEY(engagement_id) REFERENCES engagement (id) ON DELETE CASCADE, 
	CONSTRAINT fk_engagement_reading_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE
);
CREATE INDEX ix_engagement_reading_user_id ON engagement_reading (user_id);
CREATE INDEX ix_engagement_reading_engagement_id_rid ON engagement_reading (engagement_id, rid);
CREATE TABLE delivery_event (
	rid BIGSERIAL NOT NULL, 
	user_id TEXT COLLATE "C" NOT NULL, 
	delivery_id TEXT COLLATE "C" NOT NULL, 
	at BIGINT NOT NULL, 
	what TEXT COLLATE "C" NOT NULL, 
	says TEXT COLLATE "C" DEFAULT '' NOT NULL, 
	CONSTRAINT pk_delivery_event PRIMARY KEY (rid), 
	CONSTRAINT fk_delivery_event_user_id FOREIGN KEY(user_id) REFERENCES "user" (id) ON DELETE CASCADE, 
	CONSTRAINT fk_delivery_event_delivery_id FOREIGN KEY(delivery_id) REFERENCES delivery (id) ON DELETE CASCADE
);
CREATE INDEX ix_delivery_event_user_id ON delivery_event (user_id);
CREATE INDEX ix_delivery_event_delivery_id_rid ON delivery_event (delivery_id, rid);
CREATE FUNCTION fold_words(content text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    regexp_replace(
        regexp_replace(lower(normalize(content, NFKD) COLLATE {collation}), '[\u0300-\u036f]+', '', 'g')
        COLLATE {collation}, '[^[:alnum:]]+', ' ', 'g');
CREATE FUNCTION draft_search_words(content text, about text, source_id text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    to_tsvector('simple', fold_words(content)) || to_tsvector('simple', fold_words(about))
    || array_to_tsvector(ARRAY['source:' || coalesce(source_id, '')]);
ALTER TABLE draft ADD COLUMN words tsvector GENERATED ALWAYS AS (draft_search_words(text, about, source_id)) STORED;
CREATE INDEX ix_draft_words ON draft USING gin (words);
CREATE VIEW draft_words AS SELECT rid AS rowid, words AS draft_words FROM draft;
CREATE FUNCTION item_counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE source SET item_count = item_count + items
    FROM (SELECT source_id, count(*) AS items FROM changed GROUP BY source_id) AS counted
    WHERE source.id = counted.source_id;
RETURN NULL;
END $$;
CREATE TRIGGER item_counted AFTER INSERT ON item REFERENCING NEW TABLE AS changed FOR EACH STATEMENT  EXECUTE FUNCTION item_counted();
CREATE FUNCTION item_uncounted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE source SET item_count = item_count - items
    FROM (SELECT source_id, count(*) AS items FROM changed GROUP BY source_id) AS counted
    WHERE source.id = counted.source_id;
RETURN NULL;
END $$;
CREATE TRIGGER item_uncounted AFTER DELETE ON item REFERENCING OLD TABLE AS changed FOR EACH STATEMENT  EXECUTE FUNCTION item_uncounted();
CREATE FUNCTION draft_counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO draft_count (user_id, source_id, status, archived, drafts)
    VALUES (new.user_id, coalesce(new.source_id, ''), new.status, new.archived_at IS NOT NULL, 1)
    ON CONFLICT (user_id, source_id, status, archived) DO UPDATE SET drafts = draft_count.drafts + 1;
RETURN NULL;
END $$;
CREATE TRIGGER draft_counted AFTER INSERT ON draft FOR EACH ROW  EXECUTE FUNCTION draft_counted();
CREATE FUNCTION draft_counted_anew() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE draft_count SET drafts = drafts - 1 WHERE user_id = old.user_id AND source_id = coalesce(old.source_id, '')
    AND status = old.status AND archived = (old.archived_at IS NOT NULL);
DELETE FROM draft_count WHERE user_id = old.user_id AND source_id = coalesce(old.source_id, '')
    AND status = old.status AND archived = (old.archived_at IS NOT NULL) AND drafts = 0;
INSERT INTO draft_count (user_id, source_id, status, archived, drafts)
    VALUES (new.user_id, coalesce(new.source_id, ''), new.status, new.archived_at IS NOT NULL, 1)
    ON CONFLICT (user_id, source_id, status, archived) DO UPDATE SET drafts = draft_count.drafts + 1;
RETURN NULL;
END $$;
CREATE TRIGGER draft_counted_anew AFTER UPDATE OF user_id, source_id, status, archived_at ON draft FOR EACH ROW WHEN (old.status <> new.status OR (old.archived_at IS NULL) <> (new.archived_at IS NULL)
    OR old.source_id IS DISTINCT FROM new.source_id OR old.user_id <> new.user_id) EXECUTE FUNCTION draft_counted_anew();
CREATE FUNCTION draft_uncounted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE draft_count SET drafts = drafts - 1 WHERE user_id = old.user_id AND source_id = coalesce(old.source_id, '')
    AND status = old.status AND archived = (old.archived_at IS NOT NULL);
DELETE FROM draft_count WHERE user_id = old.user_id AND source_id = coalesce(old.source_id, '')
    AND status = old.status AND archived = (old.archived_at IS NOT NULL) AND drafts = 0;
RETURN NULL;
END $$;
CREATE TRIGGER draft_uncounted AFTER DELETE ON draft FOR EACH ROW  EXECUTE FUNCTION draft_uncounted();
CREATE FUNCTION item_retitled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE draft SET about = (SELECT title FROM item WHERE id = item_id) || chr(10)
    || coalesce((SELECT string_agg(name, chr(10) ORDER BY name) || chr(10) FROM draft_tag JOIN tag ON tag.id = tag_id
        WHERE draft_id = draft.id), '') WHERE item_id = new.id;
RETURN NULL;
END $$;
CREATE TRIGGER item_retitled AFTER UPDATE OF title ON item FOR EACH ROW WHEN (old.title <> new.title) EXECUTE FUNCTION item_retitled();
CREATE FUNCTION draft_tagged() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE draft SET about = (SELECT title FROM item WHERE id = item_id) || chr(10)
    || coalesce((SELECT string_agg(name, chr(10) ORDER BY name) || chr(10) FROM draft_tag JOIN tag ON tag.id = tag_id
        WHERE draft_id = draft.id), '') WHERE id = new.draft_id AND strpos(about,
            (SELECT chr(10) || name || chr(10) FROM tag WHERE id = new.tag_id)) = 0;
RETURN NULL;
END $$;
CREATE TRIGGER draft_tagged AFTER INSERT ON draft_tag FOR EACH ROW  EXECUTE FUNCTION draft_tagged();
CREATE FUNCTION draft_untagged() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE draft SET about = (SELECT title FROM item WHERE id = item_id) || chr(10)
    || coalesce((SELECT string_agg(name, chr(10) ORDER BY name) || chr(10) FROM draft_tag JOIN tag ON tag.id = tag_id
        WHERE draft_id = draft.id), '') WHERE id = old.draft_id;
RETURN NULL;
END $$;
CREATE TRIGGER draft_untagged AFTER DELETE ON draft_tag FOR EACH ROW  EXECUTE FUNCTION draft_untagged();
CREATE FUNCTION tag_renamed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE draft SET about = (SELECT title FROM item WHERE id = item_id) || chr(10)
    || coalesce((SELECT string_agg(name, chr(10) ORDER BY name) || chr(10) FROM draft_tag JOIN tag ON tag.id = tag_id
        WHERE draft_id = draft.id), '') WHERE id IN (SELECT draft_id FROM draft_tag WHERE tag_id = new.id);
RETURN NULL;
END $$;
CREATE TRIGGER tag_renamed AFTER UPDATE OF name ON tag FOR EACH ROW WHEN (old.name <> new.name) EXECUTE FUNCTION tag_renamed();
CREATE FUNCTION run_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO run_total (user_id, ended, succeeded, microseconds, items, drafts) SELECT new.user_id, 1, (new.status = 'succeeded')::int, greatest(0, new.ended_at - new.started_at), coalesce((new.stats ->> 'itemsNew')::bigint, 0), coalesce((new.stats ->> 'draftsCreated')::bigint, 0) WHERE new.ended_at IS NOT NULL
    ON CONFLICT (user_id) DO UPDATE SET ended = run_total.ended + excluded.ended, succeeded = run_total.succeeded + excluded.succeeded, microseconds = run_total.microseconds + excluded.microseconds, items = run_total.items + excluded.items, drafts = run_total.drafts + excluded.drafts;
INSERT INTO run_error (user_id, category, runs) SELECT new.user_id, CASE WHEN new.status = 'interrupted' THEN 'interrupted' ELSE coalesce(new.error_category, 'error') END, 1 WHERE new.ended_at IS NOT NULL AND new.status IN ('failed', 'interrupted')
    ON CONFLICT (user_id, category) DO UPDATE SET runs = run_error.runs + excluded.runs;
RETURN NULL;
END $$;
CREATE TRIGGER run_added AFTER INSERT ON run FOR EACH ROW  EXECUTE FUNCTION run_added();
CREATE FUNCTION run_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE run_total SET ended = ended - (1), succeeded = succeeded - ((old.status = 'succeeded')::int), microseconds = microseconds - (greatest(0, old.ended_at - old.started_at)), items = items - (coalesce((old.stats ->> 'itemsNew')::bigint, 0)), drafts = drafts - (coalesce((old.stats ->> 'draftsCreated')::bigint, 0)) WHERE user_id = old.user_id AND old.ended_at IS NOT NULL;
UPDATE run_error SET runs = runs - (1) WHERE user_id = old.user_id AND category = CASE WHEN old.status = 'interrupted' THEN 'interrupted' ELSE coalesce(old.error_category, 'error') END AND old.ended_at IS NOT NULL AND old.status IN ('failed', 'interrupted');
INSERT INTO run_total (user_id, ended, succeeded, microseconds, items, drafts) SELECT new.user_id, 1, (new.status = 'succeeded')::int, greatest(0, new.ended_at - new.started_at), coalesce((new.stats ->> 'itemsNew')::bigint, 0), coalesce((new.stats ->> 'draftsCreated')::bigint, 0) WHERE new.ended_at IS NOT NULL
    ON CONFLICT (user_id) DO UPDATE SET ended = run_total.ended + excluded.ended, succeeded = run_total.succeeded + excluded.succeeded, microseconds = run_total.microseconds + excluded.microseconds, items = run_total.items + excluded.items, drafts = run_total.drafts + excluded.drafts;
INSERT INTO run_error (user_id, category, runs) SELECT new.user_id, CASE WHEN new.status = 'interrupted' THEN 'interrupted' ELSE coalesce(new.error_category, 'error') END, 1 WHERE new.ended_at IS NOT NULL AND new.status IN ('failed', 'interrupted')
    ON CONFLICT (user_id, category) DO UPDATE SET runs = run_error.runs + excluded.runs;
RETURN NULL;
END $$;
CREATE TRIGGER run_changed AFTER UPDATE ON run FOR EACH ROW WHEN (old.ended_at IS NOT NULL OR new.ended_at IS NOT NULL) EXECUTE FUNCTION run_changed();
CREATE FUNCTION run_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE run_total SET ended = ended - (1), succeeded = succeeded - ((old.status = 'succeeded')::int), microseconds = microseconds - (greatest(0, old.ended_at - old.started_at)), items = items - (coalesce((old.stats ->> 'itemsNew')::bigint, 0)), drafts = drafts - (coalesce((old.stats ->> 'draftsCreated')::bigint, 0)) WHERE user_id = old.user_id AND old.ended_at IS NOT NULL;
UPDATE run_error SET runs = runs - (1) WHERE user_id = old.user_id AND category = CASE WHEN old.status = 'interrupted' THEN 'interrupted' ELSE coalesce(old.error_category, 'error') END AND old.ended_at IS NOT NULL AND old.status IN ('failed', 'interrupted');
RETURN NULL;
END $$;
CREATE TRIGGER run_removed AFTER DELETE ON run FOR EACH ROW  EXECUTE FUNCTION run_removed();
CREATE FUNCTION engagement_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO engagement_total (user_id, platform, format, posts, measured, rated, likes, replies, reposts, impressions, clicks, rated_interactions, rated_impressions) SELECT new.user_id, new.platform, new.format, 1, (coalesce(new.interactions, new.impressions) IS NOT NULL)::int, (new.engagement_rate IS NOT NULL)::int, coalesce(new.likes, 0), coalesce(new.replies, 0), coalesce(new.reposts, 0), coalesce(new.impressions, 0), coalesce(new.clicks, 0), CASE WHEN new.engagement_rate IS NULL THEN 0 ELSE least(new.interactions, new.impressions) END, CASE WHEN new.engagement_rate IS NULL THEN 0 ELSE new.impressions END WHERE new.status = 'posted'
    ON CONFLICT (user_id, platform, format) DO UPDATE SET posts = engagement_total.posts + excluded.posts, measured = engagement_total.measured + excluded.measured, rated = engagement_total.rated + excluded.rated, likes = engagement_total.likes + excluded.likes, replies = engagement_total.replies + excluded.replies, reposts = engagement_total.reposts + excluded.reposts, impressions = engagement_total.impressions + excluded.impressions, clicks = engagement_total.clicks + excluded.clicks, rated_interactions = engagement_total.rated_interactions + excluded.rated_interactions, rated_impressions = engagement_total.rated_impressions + excluded.rated_impressions;
INSERT INTO engagement_quarter_hour (user_id, platform, format, quarter_hour, posts, measured, rated, likes, replies, reposts, impressions, clicks, rated_interactions, rated_impressions, with_interactions, with_likes, with_replies, with_reposts, with_impressions, with_clicks) SELECT new.user_id, new.platform, new.format, coalesce(new.published_at / 900000000, -1), 1, (coalesce(new.interactions, new.impressions) IS NOT NULL)::int, (new.engagement_rate IS NOT NULL)::int, coalesce(new.likes, 0), coalesce(new.replies, 0), coalesce(new.reposts, 0), coalesce(new.impressions, 0), coalesce(new.clicks, 0), CASE WHEN new.engagement_rate IS NULL THEN 0 ELSE least(new.interactions, new.impressions) END, CASE WHEN new.engagement_rate IS NULL THEN 0 ELSE new.impressions END, (new.interactions IS NOT NULL)::int, (new.likes IS NOT NULL)::int, (new.replies IS NOT NULL)::int, (new.reposts IS NOT NULL)::int, (new.impressions IS NOT NULL)::int, (new.clicks IS NOT NULL)::int WHERE new.status = 'posted'
    ON CONFLICT (user_id, platform, format, quarter_hour) DO UPDATE SET posts = engagement_quarter_hour.posts + excluded.posts, measured = engagement_quarter_hour.measured + excluded.measured, rated = engagement_quarter_hour.rated + excluded.rated, likes = engagement_quarter_hour.likes + excluded.likes, replies = engagement_quarter_hour.replies + excluded.replies, reposts = engagement_quarter_hour.reposts + excluded.reposts, impressions = engagement_quarter_hour.impressions + excluded.impressions, clicks = engagement_quarter_hour.clicks + excluded.clicks, rated_interactions = engagement_quarter_hour.rated_interactions + excluded.rated_interactions, rated_impressions = engagement_quarter_hour.rated_impressions + excluded.rated_impressions, with_interactions = engagement_quarter_hour.with_interactions + excluded.with_interactions, with_likes = engagement_quarter_hour.with_likes + excluded.with_likes, with_replies = engagement_quarter_hour.with_replies + excluded.with_replies, with_reposts = engagement_quarter_hour.with_reposts + excluded.with_reposts, with_impressions = engagement_quarter_hour.with_impressions + excluded.with_impressions, with_clicks = engagement_quarter_hour.with_clicks + excluded.with_clicks;
UPDATE engagement SET published_at = draft.posted_at FROM draft WHERE engagement.id = new.id
    AND new.published_at IS NULL AND draft.id = new.draft_id AND draft.posted_at IS NOT NULL;
RETURN NULL;
END $$;
CREATE TRIGGER engagement_added AFTER INSERT ON engagement FOR EACH ROW  EXECUTE FUNCTION engagement_added();
CREATE FUNCTION engagement_delivery_sent() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE engagement
    SET published_at = coalesce(new.sent_at, (SELECT posted_at FROM draft WHERE id = new.draft_id)) WHERE id = new.id;
RETURN NULL;
END $$;
CREATE TRIGGER engagement_delivery_sent AFTER INSERT ON delivery FOR EACH ROW WHEN (new.sent_at IS NOT NULL) EXECUTE FUNCTION engagement_delivery_sent();
CREATE FUNCTION engagement_delivery_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE engagement
    SET published_at = coalesce(new.sent_at, (SELECT posted_at FROM draft WHERE id = new.draft_id)) WHERE id = new.id;
RETURN NULL;
END $$;
CREATE TRIGGER engagement_delivery_changed AFTER UPDATE OF sent_at ON delivery FOR EACH ROW WHEN (new.sent_at IS DISTINCT FROM old.sent_at) EXECUTE FUNCTION engagement_delivery_changed();
CREATE FUNCTION engagement_draft_posted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE engagement SET published_at = new.posted_at WHERE draft_id = new.id
    AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.id = engagement.id AND sent_at IS NOT NULL);
RETURN NULL;
END $$;
CREATE TRIGGER engagement_draft_posted AFTER UPDATE OF posted_at ON draft FOR EACH ROW WHEN (new.posted_at IS DISTINCT FROM old.posted_at) EXECUTE FUNCTION engagement_draft_posted();
CREATE FUNCTION engagement_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE engagement_total SET posts = posts - (1), measured = measured - ((coalesce(old.interactions, old.impressions) IS NOT NULL)::int), rated = rated - ((old.engagement_rate IS NOT NULL)::int), likes = likes - (coalesce(old.likes, 0)), replies = replies - (coalesce(old.replies, 0)), reposts = reposts - (coalesce(old.reposts, 0)), impressions = impressions - (coalesce(old.impressions, 0)), clicks = clicks - (coalesce(old.clicks, 0)), rated_interactions = rated_interactions - (CASE WHEN old.engagement_rate IS NULL THEN 0 ELSE least(old.interactions, old.impressions) END), rated_impressions = rated_impressions - (CASE WHEN old.engagement_rate IS NULL THEN 0 ELSE old.impressions END) WHERE user_id = old.user_id AND platform = old.platform AND format = old.format AND old.status = 'posted';
UPDATE engagement_quarter_hour SET posts = posts - (1), measured = measured - ((coalesce(old.interactions, old.impressions) IS NOT NULL)::int), rated = rated - ((old.engagement_rate IS NOT NULL)::int), likes = likes - (coalesce(old.likes, 0)), replies = replies - (coalesce(old.replies, 0)), reposts = reposts - (coalesce(old.reposts, 0)), impressions = impressions - (coalesce(old.impressions, 0)), clicks = clicks - (coalesce(old.clicks, 0)), rated_interactions = rated_interactions - (CASE WHEN old.engagement_rate IS NULL THEN 0 ELSE least(old.interactions, old.impressions) END), rated_impressions = rated_impressions - (CASE WHEN old.engagement_rate IS NULL THEN 0 ELSE old.impressions END), with_interactions = with_interactions - ((old.interactions IS NOT NULL)::int), with_likes = with_likes - ((old.likes IS NOT NULL)::int), with_replies = with_replies - ((old.replies IS NOT NULL)::int), with_reposts = with_reposts - ((old.reposts IS NOT NULL)::int), with_impressions = with_impressions - ((old.impressions IS NOT NULL)::int), with_clicks = with_clicks - ((old.clicks IS NOT NULL)::int) WHERE user_id = old.user_id AND platform = old.platform AND format = old.format AND quarter_hour = coalesce(old.published_at / 900000000, -1) AND old.status = 'posted';
INSERT INTO engagement_total (user_id, platform, format, posts, measured, rated, likes, replies, reposts, impressions, clicks, rated_interactions, rated_impressions) SELECT new.user_id, new.platform, new.format, 1, (coalesce(new.interactions, new.impressions) IS NOT NULL)::int, (new.engagement_rate IS NOT NULL)::int, coalesce(new.likes, 0), coalesce(new.replies, 0), coalesce(new.reposts, 0), coalesce(new.impressions, 0), coalesce(new.clicks, 0), CASE WHEN new.engagement_rate IS NULL THEN 0 ELSE least(new.interactions, new.impressions) END, CASE WHEN new.engagement_rate IS NULL THEN 0 ELSE new.impressions END WHERE new.status = 'posted'
    ON CONFLICT (user_id, platform, format) DO UPDATE SET posts = engagement_total.posts + excluded.posts, measured = engagement_total.measured + excluded.measured, rated = engagement_total.rated + excluded.rated, likes = engagement_total.likes + excluded.likes, replies = engagement_total.replies + excluded.replies, reposts = engagement_total.reposts + excluded.reposts, impressions = engagement_total.impressions + excluded.impressions, clicks = engagement_total.clicks + excluded.clicks, rated_interactions = engagement_total.rated_interactions + excluded.rated_interactions, rated_impressions = engagement_total.rated_impressions + excluded.rated_impressions;
INSERT INTO engagement_quarter_hour (user_id, platform, format, quarter_hour, posts, measured, rated, likes, replies, reposts, impressions, clicks, rated_interactions, rated_impressions, with_interactions, with_likes, with_replies, with_reposts, with_impressions, with_clicks) SELECT new.user_id, new.platform, new.format, coalesce(new.published_at / 900000000, -1), 1, (coalesce(new.interactions, new.impressions) IS NOT NULL)::int, (new.engagement_rate IS NOT NULL)::int, coalesce(new.likes, 0), coalesce(new.replies, 0), coalesce(new.reposts, 0), coalesce(new.impressions, 0), coalesce(new.clicks, 0), CASE WHEN new.engagement_rate IS NULL THEN 0 ELSE least(new.interactions, new.impressions) END, CASE WHEN new.engagement_rate IS NULL THEN 0 ELSE new.impressions END, (new.interactions IS NOT NULL)::int, (new.likes IS NOT NULL)::int, (new.replies IS NOT NULL)::int, (new.reposts IS NOT NULL)::int, (new.impressions IS NOT NULL)::int, (new.clicks IS NOT NULL)::int WHERE new.status = 'posted'
    ON CONFLICT (user_id, platform, format, quarter_hour) DO UPDATE SET posts = engagement_quarter_hour.posts + excluded.posts, measured = engagement_quarter_hour.measured + excluded.measured, rated = engagement_quarter_hour.rated + excluded.rated, likes = engagement_quarter_hour.likes + excluded.likes, replies = engagement_quarter_hour.replies + excluded.replies, reposts = engagement_quarter_hour.reposts + excluded.reposts, impressions = engagement_quarter_hour.impressions + excluded.impressions, clicks = engagement_quarter_hour.clicks + excluded.clicks, rated_interactions = engagement_quarter_hour.rated_interactions + excluded.rated_interactions, rated_impressions = engagement_quarter_hour.rated_impressions + excluded.rated_impressions, with_interactions = engagement_quarter_hour.with_interactions + excluded.with_interactions, with_likes = engagement_quarter_hour.with_likes + excluded.with_likes, with_replies = engagement_quarter_hour.with_replies + excluded.with_replies, with_reposts = engagement_quarter_hour.with_reposts + excluded.with_reposts, with_impressions = engagement_quarter_hour.with_impressions + excluded.with_impressions, with_clicks = engagement_quarter_hour.with_clicks + excluded.with_clicks;
RETURN NULL;
END $$;
CREATE TRIGGER engagement_changed AFTER UPDATE OF user_id, platform, format, status, likes, replies, reposts, impressions, clicks, published_at ON engagement FOR EACH ROW  EXECUTE FUNCTION engagement_changed();
CREATE FUNCTION send_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO removed_send (delivery_id, at) VALUES (old.delivery_id, old.at) ON CONFLICT DO NOTHING;
RETURN NULL;
END $$;
CREATE TRIGGER send_removed AFTER DELETE ON delivery_event FOR EACH ROW WHEN (old.what = 'sending') EXECUTE FUNCTION send_removed();
CREATE FUNCTION engagement_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
UPDATE engagement_total SET posts = posts - (1), measured = measured - ((coalesce(old.interactions, old.impressions) IS NOT NULL)::int), rated = rated - ((old.engagement_rate IS NOT NULL)::int), likes = likes - (coalesce(old.likes, 0)), replies = replies - (coalesce(old.replies, 0)), reposts = reposts - (coalesce(old.reposts, 0)), impressions = impressions - (coalesce(old.impressions, 0)), clicks = clicks - (coalesce(old.clicks, 0)), rated_interactions = rated_interactions - (CASE WHEN old.engagement_rate IS NULL THEN 0 ELSE least(old.interactions, old.impressions) END), rated_impressions = rated_impressions - (CASE WHEN old.engagement_rate IS NULL THEN 0 ELSE old.impressions END) WHERE user_id = old.user_id AND platform = old.platform AND format = old.format AND old.status = 'posted';
UPDATE engagement_quarter_hour SET posts = posts - (1), measured = measured - ((coalesce(old.interactions, old.impressions) IS NOT NULL)::int), rated = rated - ((old.engagement_rate IS NOT NULL)::int), likes = likes - (coalesce(old.likes, 0)), replies = replies - (coalesce(old.replies, 0)), reposts = reposts - (coalesce(old.reposts, 0)), impressions = impressions - (coalesce(old.impressions, 0)), clicks = clicks - (coalesce(old.clicks, 0)), rated_interactions = rated_interactions - (CASE WHEN old.engagement_rate IS NULL THEN 0 ELSE least(old.interactions, old.impressions) END), rated_impressions = rated_impressions - (CASE WHEN old.engagement_rate IS NULL THEN 0 ELSE old.impressions END), with_interactions = with_interactions - ((old.interactions IS NOT NULL)::int), with_likes = with_likes - ((old.likes IS NOT NULL)::int), with_replies = with_replies - ((old.replies IS NOT NULL)::int), with_reposts = with_reposts - ((old.reposts IS NOT NULL)::int), with_impressions = with_impressions - ((old.impressions IS NOT NULL)::int), with_clicks = with_clicks - ((old.clicks IS NOT NULL)::int) WHERE user_id = old.user_id AND platform = old.platform AND format = old.format AND quarter_hour = coalesce(old.published_at / 900000000, -1) AND old.status = 'posted';
RETURN NULL;
END $$;
CREATE TRIGGER engagement_removed AFTER DELETE ON engagement FOR EACH ROW  EXECUTE FUNCTION engagement_removed();
CREATE FUNCTION event_draft_created() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'draft.created', new.at, json_build_object('draftId', new.draft_id, 'by', new.who, 'status', status, 'format', format, 'origin', origin,
        'sourceId', source_id, 'runId', run_id)::text FROM draft WHERE id = new.draft_id;
RETURN NULL;
END $$;
CREATE TRIGGER event_draft_created AFTER INSERT ON draft_event FOR EACH ROW WHEN (new.action = 'create') EXECUTE FUNCTION event_draft_created();
CREATE FUNCTION event_draft_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'draft.changed', new.at, json_build_object('draftId', new.draft_id, 'version', new.version, 'by', new.who, 'kind', new.kind, 'action', new.action,
        'statusBefore', coalesce(new.before ->> 'status', status), 'status', status, 'bulkId', new.bulk_id)::text FROM draft WHERE id = new.draft_id;
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'draft.missed', new.at, json_build_object('draftId', new.draft_id, 'version', new.version, 'scheduledAt',
        to_char(to_timestamp(scheduled_at / 1e6) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text FROM draft WHERE id = new.draft_id AND new.action = 'late' AND new.kind = 'fixed';
RETURN NULL;
END $$;
CREATE TRIGGER event_draft_changed AFTER INSERT ON draft_event FOR EACH ROW WHEN (new.action <> 'create') EXECUTE FUNCTION event_draft_changed();
CREATE FUNCTION event_run_started() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'run.started', new.started_at, json_build_object('runId', new.id)::text ;
RETURN NULL;
END $$;
CREATE TRIGGER event_run_started AFTER UPDATE OF status ON run FOR EACH ROW WHEN (new.status = 'running' AND old.status <> 'running') EXECUTE FUNCTION event_run_started();
CREATE FUNCTION event_run_progressed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'run.progressed', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000, json_build_object('runId', new.id, 'stage', new.stage)::text ;
RETURN NULL;
END $$;
CREATE TRIGGER event_run_progressed AFTER UPDATE OF stage ON run FOR EACH ROW WHEN (new.stage IS NOT NULL AND new.stage IS DISTINCT FROM old.stage) EXECUTE FUNCTION event_run_progressed();
CREATE FUNCTION event_run_ended() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'run.ended', new.ended_at, json_build_object('runId', new.id, 'status', new.status,
        'itemsIngested', coalesce((new.stats ->> 'itemsNew')::bigint, 0), 'draftsCreated', coalesce((new.stats ->> 'draftsCreated')::bigint, 0))::text ;
RETURN NULL;
END $$;
CREATE TRIGGER event_run_ended AFTER UPDATE OF ended_at ON run FOR EACH ROW WHEN (new.ended_at IS NOT NULL AND old.ended_at IS NULL) EXECUTE FUNCTION event_run_ended();
CREATE FUNCTION event_delivery_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'delivery.ended', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000, json_build_object('deliveryId', delivery.id, 'draftId', delivery.draft_id, 'platform', platform, 'account', account, 'outcome', CASE new.state WHEN 'sent' THEN 'posted' ELSE new.state END)::text FROM delivery JOIN engagement ON engagement.id = delivery.id WHERE delivery.id = new.id AND new.state IN ('sent', 'failed', 'abandoned');
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'delivery.outcome_unknown', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000, json_build_object('deliveryId', delivery.id, 'draftId', delivery.draft_id, 'platform', platform, 'account', account)::text FROM delivery JOIN engagement ON engagement.id = delivery.id WHERE delivery.id = new.id AND new.state = 'unknown';
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'delivery.needs_user', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000, json_build_object('deliveryId', delivery.id, 'draftId', delivery.draft_id, 'platform', platform, 'account', account, 'reason', 'outcome_unknown')::text FROM delivery JOIN engagement ON engagement.id = delivery.id WHERE delivery.id = new.id AND new.state = 'needs_user';
RETURN NULL;
END $$;
CREATE TRIGGER event_delivery_changed AFTER UPDATE OF state ON delivery FOR EACH ROW WHEN (new.state <> old.state) EXECUTE FUNCTION event_delivery_changed();
CREATE FUNCTION event_delivery_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF EXISTS (SELECT 1 FROM account WHERE id = new.account_id AND trouble IS NOT NULL) THEN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'delivery.needs_user', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000, json_build_object('deliveryId', delivery.id, 'draftId', delivery.draft_id, 'platform', platform, 'account', account, 'reason', 'account')::text FROM delivery JOIN engagement ON engagement.id = delivery.id WHERE delivery.id = new.id;
END IF;
RETURN NULL;
END $$;
CREATE TRIGGER event_delivery_added AFTER INSERT ON delivery FOR EACH ROW  EXECUTE FUNCTION event_delivery_added();
CREATE FUNCTION event_delivery_restarted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF new.state = 'planned' AND old.state IN ('failed', 'abandoned') AND EXISTS (SELECT 1 FROM account WHERE id = new.account_id AND trouble IS NOT NULL) THEN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'delivery.needs_user', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000, json_build_object('deliveryId', delivery.id, 'draftId', delivery.draft_id, 'platform', platform, 'account', account, 'reason', 'account')::text FROM delivery JOIN engagement ON engagement.id = delivery.id WHERE delivery.id = new.id;
END IF;
RETURN NULL;
END $$;
CREATE TRIGGER event_delivery_restarted AFTER UPDATE OF state ON delivery FOR EACH ROW  EXECUTE FUNCTION event_delivery_restarted();
CREATE FUNCTION event_delivery_disconnected() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF new.account_id IS NULL AND old.account_id IS NOT NULL AND new.state IN ('planned', 'sending', 'unknown')
    AND EXISTS (SELECT 1 FROM "user" WHERE id = new.user_id) THEN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'delivery.needs_user', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000, json_build_object('deliveryId', delivery.id, 'draftId', delivery.draft_id, 'platform', platform, 'account', account, 'reason', 'account')::text FROM delivery JOIN engagement ON engagement.id = delivery.id WHERE delivery.id = new.id;
END IF;
RETURN NULL;
END $$;
CREATE TRIGGER event_delivery_disconnected AFTER UPDATE OF account_id ON delivery FOR EACH ROW  EXECUTE FUNCTION event_delivery_disconnected();
CREATE FUNCTION event_account_unusable() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + row_number() OVER (ORDER BY delivery.id),
        'delivery.needs_user', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000, json_build_object('deliveryId', delivery.id, 'draftId', delivery.draft_id, 'platform', platform, 'account', account, 'reason', 'account')::text FROM delivery JOIN engagement ON engagement.id = delivery.id
    WHERE delivery.account_id = new.id AND state IN ('planned', 'sending', 'unknown');
RETURN NULL;
END $$;
CREATE TRIGGER event_account_unusable AFTER UPDATE OF trouble ON account FOR EACH ROW WHEN (new.trouble IS NOT NULL AND old.trouble IS NULL) EXECUTE FUNCTION event_account_unusable();
CREATE FUNCTION event_health_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'source.health_changed', greatest(coalesce(new.last_fetch, 0), new.updated_at), json_build_object('sourceId', new.id, 'healthBefore', old.health, 'health', new.health, 'failCount', new.fail_count)::text ;
RETURN NULL;
END $$;
CREATE TRIGGER event_health_changed AFTER UPDATE OF health ON source FOR EACH ROW WHEN (new.health <> old.health) EXECUTE FUNCTION event_health_changed();
CREATE FUNCTION event_webhook_disabled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO event (user_id, id, type, created_at, data)
    SELECT new.user_id, coalesce((SELECT max(id) FROM event WHERE user_id = new.user_id), 0) + 1,
        'webhook.disabled', new.disabled_at, json_build_object('webhookId', new.id, 'failures', new.failures)::text ;
RETURN NULL;
END $$;
CREATE TRIGGER event_webhook_disabled AFTER UPDATE OF disabled_at ON webhook FOR EACH ROW WHEN (new.disabled_at IS NOT NULL AND old.disabled_at IS NULL) EXECUTE FUNCTION event_webhook_disabled();
CREATE FUNCTION event_queued() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF EXISTS (SELECT 1 FROM webhook WHERE user_id = new.user_id AND disabled_at IS NULL) THEN
INSERT INTO webhook_delivery (webhook_id, event_id, user_id, next_at)
    SELECT id, new.id, new.user_id, 0 FROM webhook WHERE user_id = new.user_id AND disabled_at IS NULL
        AND (types IS NULL OR EXISTS (SELECT 1 FROM json_array_elements_text(types) AS t (name) WHERE name = new.type));
END IF;
RETURN NULL;
END $$;
CREATE TRIGGER event_queued AFTER INSERT ON event FOR EACH ROW  EXECUTE FUNCTION event_queued();
CREATE TABLE desk (sends_marked BOOLEAN NOT NULL, fingerprint TEXT NOT NULL);
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY);
