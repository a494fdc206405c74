CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE account (
	id VARCHAR NOT NULL, 
	email VARCHAR(254) NOT NULL, 
	key_hash VARCHAR NOT NULL, 
	key_last_four VARCHAR NOT NULL, 
	key_created_at BIGINT NOT NULL, 
	claim_nonce_hash VARCHAR, 
	claim_expires_at BIGINT NOT NULL, 
	claimed_at BIGINT, 
	password_hash TEXT, 
	project_limit INTEGER, 
	has_created_project BOOLEAN DEFAULT 0 NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, "plan" VARCHAR, billing_customer VARCHAR, plan_changed_at BIGINT, browser_generation INTEGER DEFAULT '0' NOT NULL, own_nonce_hash VARCHAR, display_name VARCHAR(80), requires_strong BOOLEAN DEFAULT 0 NOT NULL, password_set_at BIGINT, suspended_at BIGINT, suspended_reason TEXT, hides_widgets BOOLEAN DEFAULT 0 NOT NULL, language VARCHAR(8), website_read JSON, 
	CONSTRAINT pk_account PRIMARY KEY (id), 
	CONSTRAINT uq_account_email UNIQUE (email)
);

CREATE INDEX ix_account_claim_expires_at ON account (claim_expires_at);

CREATE TABLE outbox_mail (
	id VARCHAR NOT NULL, 
	purpose VARCHAR NOT NULL, 
	recipient VARCHAR NOT NULL, 
	subject VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	html TEXT NOT NULL, 
	state VARCHAR NOT NULL, 
	attempts INTEGER NOT NULL, 
	last_error TEXT, 
	created_at BIGINT NOT NULL, 
	sent_at BIGINT, list_unsubscribe TEXT, reply_to VARCHAR, sender_name VARCHAR(120), tried_at BIGINT, 
	CONSTRAINT pk_outbox_mail PRIMARY KEY (id)
);

CREATE TABLE rate_limit_counter (
	"key" VARCHAR NOT NULL, 
	hits INTEGER NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	CONSTRAINT pk_rate_limit_counter PRIMARY KEY ("key")
);

CREATE INDEX ix_rate_limit_counter_expires_at ON rate_limit_counter (expires_at);

CREATE TABLE project (
	id VARCHAR NOT NULL, 
	account_id VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	business_name VARCHAR NOT NULL, 
	slug VARCHAR(60) NOT NULL, 
	page_config JSON NOT NULL, 
	widget_config JSON NOT NULL, 
	feed_version BIGINT NOT NULL, 
	last_testimonial_at BIGINT, 
	deleted_at BIGINT, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, dashboard_config JSON DEFAULT '{}' NOT NULL, logo_id VARCHAR, widget_design JSON DEFAULT '{}' NOT NULL, widget_draft JSON, external_id VARCHAR(120), page_design JSON DEFAULT '{}' NOT NULL, cover_id VARCHAR, portrait_id VARCHAR, private_questions JSON DEFAULT '[]' NOT NULL, purchase_secret VARCHAR, own_host VARCHAR(253), old_purchase_secret VARCHAR, old_purchase_secret_until BIGINT, event_number BIGINT DEFAULT '0' NOT NULL, brand JSON DEFAULT '{}' NOT NULL, brand_logo_id VARCHAR, old_numbers JSON, numbers_from BIGINT, 
	CONSTRAINT pk_project PRIMARY KEY (id), 
	CONSTRAINT fk_project_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT uq_project_slug UNIQUE (slug)
);

CREATE INDEX ix_project_account_id_created_at ON project (account_id, created_at);

CREATE INDEX ix_project_deleted_at ON project (deleted_at);

CREATE TABLE session (
	id VARCHAR NOT NULL, 
	account_id VARCHAR NOT NULL, 
	token_hash VARCHAR NOT NULL, 
	label VARCHAR(200) NOT NULL, 
	created_at BIGINT NOT NULL, 
	last_seen_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, proved_at BIGINT, method VARCHAR(20) DEFAULT 'password' NOT NULL, 
	CONSTRAINT pk_session PRIMARY KEY (id), 
	CONSTRAINT fk_session_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT uq_session_token_hash UNIQUE (token_hash)
);

CREATE INDEX ix_session_account_id ON session (account_id);

CREATE INDEX ix_session_expires_at ON session (expires_at);

CREATE TABLE old_slug (
	slug VARCHAR(60) NOT NULL, 
	project_id VARCHAR NOT NULL, 
	renamed_at BIGINT NOT NULL, 
	CONSTRAINT pk_old_slug PRIMARY KEY (slug), 
	CONSTRAINT fk_old_slug_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE INDEX ix_old_slug_project_id ON old_slug (project_id);

CREATE TABLE testimonial (
	id VARCHAR NOT NULL, 
	project_id VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	source VARCHAR NOT NULL, 
	author_name VARCHAR(120) NOT NULL, 
	author_email VARCHAR(254), 
	author_role VARCHAR(120) NOT NULL, 
	author_company VARCHAR(120), 
	author_avatar VARCHAR(500), 
	twitter JSON, 
	text TEXT NOT NULL, 
	rating DOUBLE, 
	is_pinned BOOLEAN DEFAULT 0 NOT NULL, 
	submitted_at BIGINT NOT NULL, 
	reviewed_at BIGINT, 
	consent_text TEXT, 
	consent_language VARCHAR(35), 
	consented_at BIGINT, 
	submission_key VARCHAR(64), 
	original_text TEXT, 
	deleted_at BIGINT, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	is_visible BOOLEAN NOT NULL GENERATED ALWAYS AS (status IN ('approved', 'demo') AND deleted_at IS NULL) STORED, avatar_id VARCHAR, held_for VARCHAR, text_fingerprint VARCHAR(32), email_verified_at BIGINT, consent_withdrawn_at BIGINT, returned_at BIGINT, import_key VARCHAR(64), highlights JSON, reply TEXT, replied_at BIGINT, rank DOUBLE NOT NULL GENERATED ALWAYS AS (coalesce(rating, 0)), external_id VARCHAR(120), kind VARCHAR(10) DEFAULT 'written' NOT NULL, answers JSON, form_name VARCHAR(60), is_rewarded BOOLEAN DEFAULT 0 NOT NULL, purchase_reference VARCHAR(120), purchase_verified_at BIGINT, import_id VARCHAR, visit VARCHAR(40), is_overdue BOOLEAN DEFAULT 0 NOT NULL, is_insider BOOLEAN DEFAULT 0 NOT NULL, set_aside VARCHAR(20), translated_from VARCHAR(35), standing VARCHAR(20) GENERATED ALWAYS AS (CASE WHEN status = 'demo' OR source = 'demo' THEN 'sample' WHEN set_aside IS NOT NULL THEN set_aside WHEN status = 'withdrawn' THEN 'withdrawn' WHEN status = 'spam' THEN 'held' WHEN deleted_at IS NOT NULL AND source <> 'public_page' THEN 'removed' WHEN status = 'pending' AND deleted_at IS NULL AND NOT is_overdue THEN 'waiting' ELSE 'genuine' END) VIRTUAL, shows_earlier BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_testimonial PRIMARY KEY (id), 
	CONSTRAINT fk_testimonial_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE, 
	CONSTRAINT uq_testimonial_submission_key UNIQUE (submission_key)
);

CREATE INDEX ix_testimonial_visible_by_time ON testimonial (project_id, is_visible, created_at, id);

CREATE TABLE image (
	id VARCHAR NOT NULL, 
	width INTEGER NOT NULL, 
	height INTEGER NOT NULL, 
	content BLOB NOT NULL, 
	created_at BIGINT NOT NULL, is_held BOOLEAN DEFAULT 0 NOT NULL, digest VARCHAR(64), 
	CONSTRAINT pk_image PRIMARY KEY (id)
);

CREATE INDEX ix_account_billing_customer ON account (billing_customer);

CREATE INDEX ix_project_logo_id ON project (logo_id);

CREATE TABLE notification_choice (
	project_id VARCHAR NOT NULL, 
	account_id VARCHAR NOT NULL, 
	mode VARCHAR NOT NULL, 
	told_until BIGINT, 
	last_sent_at BIGINT, told_of_proposals_at BIGINT, decides_by_mail BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_notification_choice PRIMARY KEY (project_id, account_id), 
	CONSTRAINT fk_notification_choice_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT fk_notification_choice_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE INDEX ix_notification_choice_account_id ON notification_choice (account_id);

CREATE TABLE billing_subscription (
	id VARCHAR NOT NULL, 
	customer VARCHAR NOT NULL, 
	account_id VARCHAR, 
	"plan" VARCHAR NOT NULL, 
	is_running BOOLEAN NOT NULL, 
	told_at BIGINT NOT NULL, 
	CONSTRAINT pk_billing_subscription PRIMARY KEY (id), 
	CONSTRAINT fk_billing_subscription_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE
);

CREATE INDEX ix_billing_subscription_customer ON billing_subscription (customer);

CREATE INDEX ix_billing_subscription_account_id ON billing_subscription (account_id);

CREATE TABLE widget_sighting (
	project_id VARCHAR NOT NULL, 
	origin VARCHAR(300) NOT NULL, 
	seen_at BIGINT NOT NULL, 
	CONSTRAINT pk_widget_sighting PRIMARY KEY (project_id, origin), 
	CONSTRAINT fk_widget_sighting_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE TABLE testimonial_tag (
	testimonial_id VARCHAR NOT NULL, 
	name VARCHAR(40) NOT NULL, 
	project_id VARCHAR NOT NULL, 
	CONSTRAINT pk_testimonial_tag PRIMARY KEY (testimonial_id, name), 
	CONSTRAINT fk_testimonial_tag_testimonial_id_testimonial FOREIGN KEY(testimonial_id) REFERENCES testimonial (id) ON DELETE CASCADE, 
	CONSTRAINT fk_testimonial_tag_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE TABLE invitation_batch (
	id VARCHAR NOT NULL, 
	project_id VARCHAR NOT NULL, 
	actor VARCHAR(254) NOT NULL, 
	subject VARCHAR(160) NOT NULL, 
	message TEXT NOT NULL, 
	language VARCHAR(35) NOT NULL, 
	remind_after_days INTEGER, 
	size INTEGER NOT NULL, 
	created_at BIGINT NOT NULL, form_name VARCHAR(60), 
	CONSTRAINT pk_invitation_batch PRIMARY KEY (id), 
	CONSTRAINT fk_invitation_batch_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE INDEX ix_invitation_batch_project_id ON invitation_batch (project_id);

CREATE TABLE invitation (
	id VARCHAR NOT NULL, 
	project_id VARCHAR NOT NULL, 
	batch_id VARCHAR NOT NULL, 
	email VARCHAR(254) NOT NULL, 
	email_hash VARCHAR NOT NULL, 
	name VARCHAR(120) NOT NULL, 
	company VARCHAR(120), 
	next_mail_at BIGINT, 
	sent_at BIGINT, 
	reminded_at BIGINT, 
	opened_at BIGINT, 
	answered_at BIGINT, 
	declined_at BIGINT, 
	mail_id VARCHAR, 
	testimonial_id VARCHAR, 
	created_at BIGINT NOT NULL, started_at BIGINT, purchase_reference VARCHAR(120), 
	CONSTRAINT pk_invitation PRIMARY KEY (id), 
	CONSTRAINT fk_invitation_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE, 
	CONSTRAINT fk_invitation_batch_id_invitation_batch FOREIGN KEY(batch_id) REFERENCES invitation_batch (id) ON DELETE CASCADE, 
	CONSTRAINT fk_invitation_testimonial_id_testimonial FOREIGN KEY(testimonial_id) REFERENCES testimonial (id) ON DELETE SET NULL
);

CREATE INDEX ix_invitation_batch_id ON invitation (batch_id);

CREATE INDEX ix_invitation_email_hash ON invitation (email_hash);

CREATE INDEX ix_invitation_next_mail_at ON invitation (next_mail_at);

CREATE INDEX ix_invitation_sent_at ON invitation (sent_at);

CREATE INDEX ix_invitation_reminded_at ON invitation (reminded_at);

CREATE INDEX ix_invitation_testimonial_id ON invitation (testimonial_id);

CREATE INDEX ix_invitation_project_id_created_at ON invitation (project_id, created_at, id);

CREATE UNIQUE INDEX uq_invitation_project_id_email ON invitation (project_id, email);

CREATE TABLE unsubscribed_address (
	account_id VARCHAR NOT NULL, 
	email_hash VARCHAR NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_unsubscribed_address PRIMARY KEY (account_id, email_hash), 
	CONSTRAINT fk_unsubscribed_address_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE
);

CREATE TABLE share_picture (
	project_id VARCHAR NOT NULL, 
	fingerprint VARCHAR NOT NULL, 
	content BLOB NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_share_picture PRIMARY KEY (project_id), 
	CONSTRAINT fk_share_picture_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE TABLE widget_script (
	digest VARCHAR(16) NOT NULL, 
	content BLOB NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_widget_script PRIMARY KEY (digest)
);

CREATE TABLE event (
	id VARCHAR NOT NULL, 
	account_id VARCHAR, 
	project_id VARCHAR, 
	type VARCHAR(60) NOT NULL, 
	actor_kind VARCHAR(20) NOT NULL, 
	actor_name VARCHAR, 
	network VARCHAR, 
	times INTEGER NOT NULL, 
	details JSON NOT NULL, 
	created_at BIGINT NOT NULL, number BIGINT, testimonial_id VARCHAR, action VARCHAR, batch_id VARCHAR, actor VARCHAR(254), is_by_mail BOOLEAN DEFAULT 0 NOT NULL, reason VARCHAR(40), "before" JSON, undone_at BIGINT, entry TEXT, salt VARCHAR(32), 
	CONSTRAINT pk_event PRIMARY KEY (id), 
	CONSTRAINT fk_event_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE
);

CREATE INDEX ix_event_account_id_id ON event (account_id, id);

CREATE INDEX ix_event_project_id_id ON event (project_id, id);

CREATE INDEX ix_event_with_network ON event (id) WHERE network IS NOT NULL;

CREATE TABLE secret_mark (
	id INTEGER NOT NULL, 
	mark VARCHAR NOT NULL, 
	CONSTRAINT pk_secret_mark PRIMARY KEY (id)
);

CREATE TABLE saved_widget (
	id VARCHAR NOT NULL, 
	project_id VARCHAR NOT NULL, 
	name VARCHAR(40) NOT NULL, 
	config JSON NOT NULL, 
	design JSON NOT NULL, 
	draft JSON, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	CONSTRAINT pk_saved_widget PRIMARY KEY (id), 
	CONSTRAINT fk_saved_widget_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE, 
	CONSTRAINT uq_saved_widget_project_id_name UNIQUE (project_id, name)
);

CREATE TABLE testimonial_picture (
	testimonial_id VARCHAR NOT NULL, 
	look VARCHAR(20) NOT NULL, 
	size VARCHAR(20) NOT NULL, 
	project_id VARCHAR NOT NULL, 
	fingerprint VARCHAR NOT NULL, 
	content BLOB NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_testimonial_picture PRIMARY KEY (testimonial_id, look, size), 
	CONSTRAINT fk_testimonial_picture_testimonial_id_testimonial FOREIGN KEY(testimonial_id) REFERENCES testimonial (id) ON DELETE CASCADE, 
	CONSTRAINT fk_testimonial_picture_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE INDEX ix_testimonial_picture_project_id_created_at ON testimonial_picture (project_id, created_at);

CREATE TABLE idempotency_key (
	owner VARCHAR(64) NOT NULL, 
	"key" VARCHAR(255) NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	status INTEGER NOT NULL, 
	body BLOB NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_idempotency_key PRIMARY KEY (owner, "key")
);

CREATE INDEX ix_idempotency_key_created_at ON idempotency_key (created_at);

CREATE TABLE access_token (
	id VARCHAR NOT NULL, 
	account_id VARCHAR NOT NULL, 
	project_id VARCHAR, 
	name VARCHAR(80) NOT NULL, 
	scopes JSON NOT NULL, 
	token_hash VARCHAR, 
	last_four VARCHAR NOT NULL, 
	made_by_id VARCHAR NOT NULL, 
	client VARCHAR(20) NOT NULL, 
	expires_at BIGINT, 
	last_used_at BIGINT, 
	last_used_for VARCHAR(80), 
	last_used_by VARCHAR(20), 
	revoked_at BIGINT, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_access_token PRIMARY KEY (id), 
	CONSTRAINT fk_access_token_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT fk_access_token_made_by_id_account FOREIGN KEY(made_by_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT fk_access_token_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE, 
	CONSTRAINT uq_access_token_token_hash UNIQUE (token_hash)
);

CREATE INDEX ix_access_token_account_id_created_at ON access_token (account_id, created_at);

CREATE INDEX ix_access_token_made_by_id ON access_token (made_by_id);

CREATE INDEX ix_access_token_project_id ON access_token (project_id);

CREATE TABLE oauth_code (
	code_hash VARCHAR NOT NULL, 
	client_hash VARCHAR NOT NULL, 
	account_id VARCHAR NOT NULL, 
	made_by_id VARCHAR NOT NULL, 
	project_id VARCHAR, 
	scopes JSON NOT NULL, 
	redirect_uri VARCHAR(500) NOT NULL, 
	code_challenge VARCHAR(128) NOT NULL, 
	token_days INTEGER, 
	expires_at BIGINT NOT NULL, 
	CONSTRAINT pk_oauth_code PRIMARY KEY (code_hash), 
	CONSTRAINT fk_oauth_code_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT fk_oauth_code_made_by_id_account FOREIGN KEY(made_by_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT fk_oauth_code_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE INDEX ix_oauth_code_account_id ON oauth_code (account_id);

CREATE INDEX ix_oauth_code_expires_at ON oauth_code (expires_at);

CREATE INDEX ix_oauth_code_made_by_id ON oauth_code (made_by_id);

CREATE INDEX ix_oauth_code_project_id ON oauth_code (project_id);

CREATE TABLE webhook_endpoint (
	id VARCHAR NOT NULL, 
	project_id VARCHAR NOT NULL, 
	url VARCHAR(500) NOT NULL, 
	events JSON NOT NULL, 
	secret VARCHAR NOT NULL, 
	old_secret VARCHAR, 
	old_secret_until BIGINT, 
	read_to VARCHAR NOT NULL, 
	is_active BOOLEAN NOT NULL, 
	failing_since BIGINT, 
	switched_off_because VARCHAR(200), 
	created_by VARCHAR(254) NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, keeper_id VARCHAR DEFAULT '' NOT NULL, template VARCHAR(10) DEFAULT 'event' NOT NULL, 
	CONSTRAINT pk_webhook_endpoint PRIMARY KEY (id), 
	CONSTRAINT fk_webhook_endpoint_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE INDEX ix_webhook_endpoint_project_id ON webhook_endpoint (project_id);

CREATE TABLE proposal (
	id VARCHAR NOT NULL, 
	project_id VARCHAR NOT NULL, 
	kind VARCHAR(40) NOT NULL, 
	target_id VARCHAR, 
	"values" JSON NOT NULL, 
	"before" JSON NOT NULL, 
	reason VARCHAR(500) NOT NULL, 
	status VARCHAR(20) NOT NULL, 
	actor_kind VARCHAR(20) NOT NULL, 
	actor_name VARCHAR, 
	token_id VARCHAR, 
	result JSON, 
	note VARCHAR(500), 
	created_at BIGINT NOT NULL, 
	decided_at BIGINT, 
	decided_by_id VARCHAR, 
	CONSTRAINT pk_proposal PRIMARY KEY (id), 
	CONSTRAINT fk_proposal_decided_by_id_account FOREIGN KEY(decided_by_id) REFERENCES account (id) ON DELETE SET NULL, 
	CONSTRAINT fk_proposal_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE, 
	CONSTRAINT fk_proposal_token_id_access_token FOREIGN KEY(token_id) REFERENCES access_token (id) ON DELETE SET NULL
);

CREATE INDEX ix_proposal_decided_by_id ON proposal (decided_by_id);

CREATE INDEX ix_proposal_project_id_status_id ON proposal (project_id, status, id);

CREATE INDEX ix_proposal_token_id ON proposal (token_id);

CREATE TABLE webhook_delivery (
	id VARCHAR NOT NULL, 
	endpoint_id VARCHAR NOT NULL, 
	event_id VARCHAR NOT NULL, 
	event_type VARCHAR(60) NOT NULL, 
	subject VARCHAR, 
	body TEXT NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	tries INTEGER NOT NULL, 
	next_try_at BIGINT, 
	leased_until BIGINT, 
	attempts JSON NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_webhook_delivery PRIMARY KEY (id), 
	CONSTRAINT fk_webhook_delivery_endpoint_id_webhook_endpoint FOREIGN KEY(endpoint_id) REFERENCES webhook_endpoint (id) ON DELETE CASCADE
);

CREATE INDEX ix_webhook_delivery_due ON webhook_delivery (next_try_at, id) WHERE state = 'due';

CREATE INDEX ix_webhook_delivery_subject ON webhook_delivery (endpoint_id, subject, event_id) WHERE state = 'due';

CREATE INDEX ix_webhook_delivery_endpoint_id_id ON webhook_delivery (endpoint_id, id);

CREATE UNIQUE INDEX uq_project_account_id_external_id ON project (account_id, external_id);

CREATE INDEX ix_testimonial_trash ON testimonial (project_id, created_at, id) WHERE deleted_at IS NOT NULL;

CREATE TABLE collection_form (
	id VARCHAR NOT NULL, 
	project_id VARCHAR NOT NULL, 
	name VARCHAR(60) NOT NULL, 
	title VARCHAR(80) NOT NULL, 
	design JSON NOT NULL, 
	is_open BOOLEAN NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	CONSTRAINT pk_collection_form PRIMARY KEY (id), 
	CONSTRAINT fk_collection_form_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX uq_collection_form_project_id_name ON collection_form (project_id, name);

CREATE TABLE recording (
	id VARCHAR NOT NULL, 
	project_id VARCHAR NOT NULL, 
	testimonial_id VARCHAR, 
	kind VARCHAR(10) NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	size BIGINT NOT NULL, 
	received BIGINT NOT NULL, 
	media_type VARCHAR(60), 
	codecs VARCHAR(80), 
	seconds DOUBLE, 
	width INTEGER, 
	height INTEGER, 
	poster_id VARCHAR, 
	transcript TEXT NOT NULL, 
	shows_transcript BOOLEAN NOT NULL, 
	captions TEXT, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, digest VARCHAR(64), 
	CONSTRAINT pk_recording PRIMARY KEY (id), 
	CONSTRAINT fk_recording_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE, 
	CONSTRAINT fk_recording_testimonial_id_testimonial FOREIGN KEY(testimonial_id) REFERENCES testimonial (id) ON DELETE CASCADE, 
	CONSTRAINT uq_recording_testimonial_id UNIQUE (testimonial_id)
);

CREATE INDEX ix_recording_project_id_created_at ON recording (project_id, created_at);

CREATE INDEX ix_recording_poster_id ON recording (poster_id);

CREATE TABLE table_import (
	id VARCHAR NOT NULL, 
	project_id VARCHAR NOT NULL, 
	account_id VARCHAR, 
	actor VARCHAR(254) NOT NULL, 
	file_name VARCHAR(255) NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	options JSON NOT NULL, 
	content BLOB, 
	total INTEGER NOT NULL, 
	done INTEGER NOT NULL, 
	added INTEGER NOT NULL, 
	photos INTEGER NOT NULL, 
	photos_done INTEGER NOT NULL, 
	photos_to VARCHAR, 
	outcome JSON NOT NULL, 
	problem VARCHAR(300), 
	created_at BIGINT NOT NULL, 
	finished_at BIGINT, 
	undone_at BIGINT, 
	CONSTRAINT pk_table_import PRIMARY KEY (id), 
	CONSTRAINT fk_table_import_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE INDEX ix_table_import_project_id_created_at ON table_import (project_id, created_at);

CREATE INDEX ix_table_import_state ON table_import (state);

CREATE INDEX ix_project_cover_id ON project (cover_id);

CREATE INDEX ix_project_portrait_id ON project (portrait_id);

CREATE TABLE tag_count (
	project_id VARCHAR NOT NULL, 
	name VARCHAR(40) NOT NULL, 
	part BIGINT NOT NULL, 
	number BIGINT NOT NULL, 
	kept BIGINT NOT NULL, 
	visible BIGINT NOT NULL, 
	CONSTRAINT pk_tag_count PRIMARY KEY (project_id, name, part)
);

CREATE TRIGGER count_tag_added AFTER INSERT ON testimonial_tag FOR EACH ROW BEGIN
  INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT NEW.project_id, NEW.name, 0, 1, CASE WHEN it.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN 1 ELSE 0 END FROM testimonial it WHERE it.id = NEW.testimonial_id ON CONFLICT (project_id, name, part) DO UPDATE SET number = number + excluded.number, kept = kept + excluded.kept, visible = visible + excluded.visible;
END;

CREATE TRIGGER count_tag_removed AFTER DELETE ON testimonial_tag FOR EACH ROW BEGIN
  INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT OLD.project_id, OLD.name, 0, -1, CASE WHEN it.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN -1 ELSE 0 END FROM testimonial it WHERE it.id = OLD.testimonial_id ON CONFLICT (project_id, name, part) DO UPDATE SET number = number + excluded.number, kept = kept + excluded.kept, visible = visible + excluded.visible;
END;

CREATE TRIGGER count_tag_changed AFTER UPDATE ON testimonial_tag FOR EACH ROW BEGIN
  INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT OLD.project_id, OLD.name, 0, -1, CASE WHEN it.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN -1 ELSE 0 END FROM testimonial it WHERE it.id = OLD.testimonial_id ON CONFLICT (project_id, name, part) DO UPDATE SET number = number + excluded.number, kept = kept + excluded.kept, visible = visible + excluded.visible;
  INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT NEW.project_id, NEW.name, 0, 1, CASE WHEN it.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN 1 ELSE 0 END FROM testimonial it WHERE it.id = NEW.testimonial_id ON CONFLICT (project_id, name, part) DO UPDATE SET number = number + excluded.number, kept = kept + excluded.kept, visible = visible + excluded.visible;
END;

CREATE TRIGGER count_tags_removed BEFORE DELETE ON testimonial FOR EACH ROW BEGIN
  INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT tag.project_id, tag.name, 0, -1, CASE WHEN OLD.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN OLD.deleted_at IS NULL AND OLD.status IN ('approved', 'demo') THEN -1 ELSE 0 END FROM testimonial_tag tag WHERE tag.testimonial_id = OLD.id ON CONFLICT (project_id, name, part) DO UPDATE SET number = number + excluded.number, kept = kept + excluded.kept, visible = visible + excluded.visible;
END;

CREATE TRIGGER count_tags_changed AFTER UPDATE OF status, deleted_at ON testimonial FOR EACH ROW BEGIN
  INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT tag.project_id, tag.name, 0, -1, CASE WHEN OLD.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN OLD.deleted_at IS NULL AND OLD.status IN ('approved', 'demo') THEN -1 ELSE 0 END FROM testimonial_tag tag WHERE tag.testimonial_id = OLD.id ON CONFLICT (project_id, name, part) DO UPDATE SET number = number + excluded.number, kept = kept + excluded.kept, visible = visible + excluded.visible;
  INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT tag.project_id, tag.name, 0, 1, CASE WHEN NEW.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN NEW.deleted_at IS NULL AND NEW.status IN ('approved', 'demo') THEN 1 ELSE 0 END FROM testimonial_tag tag WHERE tag.testimonial_id = NEW.id ON CONFLICT (project_id, name, part) DO UPDATE SET number = number + excluded.number, kept = kept + excluded.kept, visible = visible + excluded.visible;
END;

CREATE TRIGGER count_project_removed AFTER DELETE ON project FOR EACH ROW BEGIN
  DELETE FROM testimonial_count WHERE project_id = OLD.id;
  DELETE FROM tag_count WHERE project_id = OLD.id;
END;

CREATE TABLE testimonial_search_row (number INTEGER PRIMARY KEY, testimonial_id VARCHAR NOT NULL UNIQUE);

CREATE TABLE insight_day (
	project_id VARCHAR NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	surface VARCHAR(10) NOT NULL, 
	website VARCHAR(260) NOT NULL, 
	views INTEGER NOT NULL, 
	clicks INTEGER NOT NULL, 
	last_seen_at BIGINT NOT NULL, 
	CONSTRAINT pk_insight_day PRIMARY KEY (project_id, day, surface, website), 
	CONSTRAINT fk_insight_day_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE INDEX ix_insight_day_day ON insight_day (day);

CREATE TABLE insight_testimonial_day (
	project_id VARCHAR NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	testimonial_id VARCHAR NOT NULL, 
	seen INTEGER NOT NULL, 
	read INTEGER NOT NULL, 
	CONSTRAINT pk_insight_testimonial_day PRIMARY KEY (project_id, day, testimonial_id), 
	CONSTRAINT fk_insight_testimonial_day_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE, 
	CONSTRAINT fk_insight_testimonial_day_testimonial_id_testimonial FOREIGN KEY(testimonial_id) REFERENCES testimonial (id) ON DELETE CASCADE
);

CREATE INDEX ix_insight_testimonial_day_day ON insight_testimonial_day (day);

CREATE INDEX ix_insight_testimonial_day_testimonial_id ON insight_testimonial_day (testimonial_id);

CREATE TABLE day_count (
	project_id VARCHAR NOT NULL, 
	day INTEGER NOT NULL, 
	part BIGINT NOT NULL, 
	sent BIGINT NOT NULL, 
	approved BIGINT NOT NULL, 
	stars_1 BIGINT NOT NULL, 
	stars_2 BIGINT NOT NULL, 
	stars_3 BIGINT NOT NULL, 
	stars_4 BIGINT NOT NULL, 
	stars_5 BIGINT NOT NULL, 
	rating_sum BIGINT NOT NULL, 
	CONSTRAINT pk_day_count PRIMARY KEY (project_id, day, part)
);

CREATE TRIGGER count_day_project_removed AFTER DELETE ON project FOR EACH ROW BEGIN
  DELETE FROM day_count WHERE project_id = OLD.id;
END;

CREATE INDEX ix_testimonial_by_time ON testimonial (project_id, created_at, id, status, deleted_at, source, kind, form_name, rating);

CREATE INDEX ix_testimonial_inbox ON testimonial (project_id, status, created_at, id, deleted_at, source, kind, form_name, rating);

CREATE INDEX ix_testimonial_tag_project_id_name ON testimonial_tag (project_id, name, testimonial_id);

CREATE INDEX ix_testimonial_form ON testimonial (project_id, form_name, created_at, id) WHERE form_name IS NOT NULL;

CREATE INDEX ix_testimonial_untold ON testimonial (project_id, returned_at, created_at) WHERE status = 'pending' AND source = 'public_page' AND held_for IS NULL AND deleted_at IS NULL;

CREATE TABLE answer_count (
	project_id VARCHAR NOT NULL, 
	question_id VARCHAR NOT NULL, 
	part BIGINT NOT NULL, 
	number BIGINT NOT NULL, 
	CONSTRAINT pk_answer_count PRIMARY KEY (project_id, question_id, part)
);

CREATE TRIGGER count_answers_added AFTER INSERT ON testimonial FOR EACH ROW WHEN NEW.answers IS NOT NULL BEGIN
  INSERT INTO answer_count (project_id, question_id, part, number) SELECT DISTINCT NEW.project_id, json_extract(NEW.answers, each.fullkey || '.id') AS question, 0, 1 FROM json_each(NEW.answers) AS each WHERE question IS NOT NULL ON CONFLICT (project_id, question_id, part) DO UPDATE SET number = number + excluded.number;
END;

CREATE TRIGGER count_answers_removed AFTER DELETE ON testimonial FOR EACH ROW WHEN OLD.answers IS NOT NULL BEGIN
  INSERT INTO answer_count (project_id, question_id, part, number) SELECT DISTINCT OLD.project_id, json_extract(OLD.answers, each.fullkey || '.id') AS question, 0, -1 FROM json_each(OLD.answers) AS each WHERE question IS NOT NULL ON CONFLICT (project_id, question_id, part) DO UPDATE SET number = number + excluded.number;
END;

CREATE TRIGGER count_answers_changed AFTER UPDATE OF answers, project_id ON testimonial FOR EACH ROW WHEN coalesce(OLD.answers, NEW.answers) IS NOT NULL BEGIN
  INSERT INTO answer_count (project_id, question_id, part, number) SELECT DISTINCT OLD.project_id, json_extract(OLD.answers, each.fullkey || '.id') AS question, 0, -1 FROM json_each(OLD.answers) AS each WHERE question IS NOT NULL ON CONFLICT (project_id, question_id, part) DO UPDATE SET number = number + excluded.number;
  INSERT INTO answer_count (project_id, question_id, part, number) SELECT DISTINCT NEW.project_id, json_extract(NEW.answers, each.fullkey || '.id') AS question, 0, 1 FROM json_each(NEW.answers) AS each WHERE question IS NOT NULL ON CONFLICT (project_id, question_id, part) DO UPDATE SET number = number + excluded.number;
END;

CREATE TRIGGER count_answers_forgotten AFTER DELETE ON project FOR EACH ROW WHEN OLD.id IS NOT NULL BEGIN
  DELETE FROM answer_count WHERE project_id = OLD.id;
END;

CREATE TABLE passkey (
	id VARCHAR NOT NULL, 
	account_id VARCHAR NOT NULL, 
	credential_id VARCHAR(1400) NOT NULL, 
	public_key BLOB NOT NULL, 
	sign_count BIGINT NOT NULL, 
	is_synced BOOLEAN NOT NULL, 
	name VARCHAR(60) NOT NULL, 
	challenged_at BIGINT NOT NULL, 
	added_at BIGINT NOT NULL, 
	used_at BIGINT, 
	CONSTRAINT pk_passkey PRIMARY KEY (id), 
	CONSTRAINT fk_passkey_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT uq_passkey_credential_id UNIQUE (credential_id)
);

CREATE INDEX ix_passkey_account_id ON passkey (account_id);

CREATE TABLE authenticator_app (
	account_id VARCHAR NOT NULL, 
	secret VARCHAR(64) NOT NULL, 
	last_step BIGINT NOT NULL, 
	added_at BIGINT NOT NULL, 
	codes_made_at BIGINT NOT NULL, 
	CONSTRAINT pk_authenticator_app PRIMARY KEY (account_id), 
	CONSTRAINT fk_authenticator_app_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE
);

CREATE TABLE recovery_code (
	account_id VARCHAR NOT NULL, 
	code_hash VARCHAR NOT NULL, 
	CONSTRAINT pk_recovery_code PRIMARY KEY (account_id, code_hash), 
	CONSTRAINT fk_recovery_code_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE
);

CREATE TABLE company_identity (
	id VARCHAR NOT NULL, 
	account_id VARCHAR NOT NULL, 
	issuer VARCHAR(500) NOT NULL, 
	subject VARCHAR(255) NOT NULL, 
	email VARCHAR(254), 
	linked_at BIGINT NOT NULL, 
	used_at BIGINT NOT NULL, 
	CONSTRAINT pk_company_identity PRIMARY KEY (id), 
	CONSTRAINT fk_company_identity_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT uq_company_identity_subject UNIQUE (issuer, subject), 
	CONSTRAINT uq_company_identity_account UNIQUE (account_id, issuer)
);

CREATE TABLE company_attempt (
	id VARCHAR NOT NULL, 
	browser_hash VARCHAR NOT NULL, 
	purpose VARCHAR(10) NOT NULL, 
	account_id VARCHAR, 
	verifier VARCHAR(128) NOT NULL, 
	nonce VARCHAR(64) NOT NULL, 
	target TEXT NOT NULL, 
	draft TEXT NOT NULL, 
	started_at BIGINT NOT NULL, 
	CONSTRAINT pk_company_attempt PRIMARY KEY (id)
);

CREATE INDEX ix_company_attempt_started_at ON company_attempt (started_at);

CREATE TABLE ownership_offer (
	id VARCHAR NOT NULL, 
	owner_id VARCHAR NOT NULL, 
	project_id VARCHAR, 
	receiver_id VARCHAR NOT NULL, 
	keeps_team BOOLEAN NOT NULL, 
	expires_at BIGINT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_ownership_offer PRIMARY KEY (id), 
	CONSTRAINT fk_ownership_offer_owner_id_account FOREIGN KEY(owner_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT fk_ownership_offer_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE, 
	CONSTRAINT fk_ownership_offer_receiver_id_account FOREIGN KEY(receiver_id) REFERENCES account (id) ON DELETE CASCADE
);

CREATE INDEX ix_ownership_offer_owner_id ON ownership_offer (owner_id);

CREATE INDEX ix_ownership_offer_project_id ON ownership_offer (project_id);

CREATE INDEX ix_ownership_offer_receiver_id ON ownership_offer (receiver_id);

CREATE INDEX ix_ownership_offer_expires_at ON ownership_offer (expires_at);

CREATE TABLE abuse_report (
	id VARCHAR NOT NULL, 
	project_id VARCHAR NOT NULL, 
	testimonial_id VARCHAR, 
	page VARCHAR(20) NOT NULL, 
	reason VARCHAR(20) NOT NULL, 
	words TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	settled_at BIGINT, 
	CONSTRAINT pk_abuse_report PRIMARY KEY (id), 
	CONSTRAINT fk_abuse_report_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE INDEX ix_abuse_report_project_id ON abuse_report (project_id);

CREATE INDEX ix_abuse_report_settled_at ON abuse_report (settled_at);

CREATE UNIQUE INDEX uq_project_own_host ON project (own_host);

CREATE TABLE custom_domain (
	project_id VARCHAR NOT NULL, 
	host VARCHAR(253) NOT NULL, 
	token VARCHAR(60) NOT NULL, 
	is_held BOOLEAN, 
	verified_at BIGINT, 
	missing_since BIGINT, 
	serving_since BIGINT, 
	checked_at BIGINT, 
	next_check_at BIGINT NOT NULL, 
	points_to JSON DEFAULT '[]' NOT NULL, 
	problem VARCHAR(300) DEFAULT '' NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_custom_domain PRIMARY KEY (project_id), 
	CONSTRAINT fk_custom_domain_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE, 
	CONSTRAINT uq_custom_domain_host_is_held UNIQUE (host, is_held)
);

CREATE INDEX ix_custom_domain_next_check_at ON custom_domain (next_check_at);

CREATE TABLE stored_backup (
	name VARCHAR(80) NOT NULL, 
	size BIGINT NOT NULL, 
	place VARCHAR NOT NULL, 
	made_at BIGINT NOT NULL, 
	CONSTRAINT pk_stored_backup PRIMARY KEY (name)
);

CREATE TABLE erased (
	kind VARCHAR(20) NOT NULL, 
	id VARCHAR(100) NOT NULL, 
	erased_at BIGINT NOT NULL, 
	CONSTRAINT pk_erased PRIMARY KEY (kind, id)
);

CREATE INDEX ix_erased_erased_at ON erased (erased_at);

CREATE TABLE member (
	id VARCHAR NOT NULL, 
	project_id VARCHAR, 
	owner_id VARCHAR, 
	account_id VARCHAR NOT NULL, 
	role VARCHAR NOT NULL, 
	source VARCHAR(20) NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_member PRIMARY KEY (id), 
	CONSTRAINT fk_member_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE, 
	CONSTRAINT fk_member_owner_id_account FOREIGN KEY(owner_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT fk_member_account_id_account FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX uq_member_project_id_account_id ON member (project_id, account_id);

CREATE UNIQUE INDEX uq_member_owner_id_account_id ON member (owner_id, account_id);

CREATE TABLE team_invitation (
	id VARCHAR NOT NULL, 
	project_id VARCHAR, 
	owner_id VARCHAR, 
	email VARCHAR(254) NOT NULL, 
	role VARCHAR NOT NULL, 
	project_ids JSON, 
	nonce_hash VARCHAR NOT NULL, 
	invited_by VARCHAR(254) NOT NULL, 
	invited_by_id VARCHAR, 
	expires_at BIGINT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_team_invitation PRIMARY KEY (id), 
	CONSTRAINT fk_team_invitation_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE, 
	CONSTRAINT fk_team_invitation_owner_id_account FOREIGN KEY(owner_id) REFERENCES account (id) ON DELETE CASCADE, 
	CONSTRAINT fk_team_invitation_invited_by_id_account FOREIGN KEY(invited_by_id) REFERENCES account (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX uq_team_invitation_project_id_email ON team_invitation (project_id, email);

CREATE UNIQUE INDEX uq_team_invitation_owner_id_email ON team_invitation (owner_id, email);

CREATE INDEX ix_member_account_id ON member (account_id);

CREATE INDEX ix_team_invitation_invited_by_id ON team_invitation (invited_by_id);

CREATE INDEX ix_team_invitation_expires_at ON team_invitation (expires_at);

CREATE INDEX ix_event_testimonial_id ON event (testimonial_id);

CREATE INDEX ix_event_batch_id ON event (batch_id) WHERE batch_id IS NOT NULL;

CREATE TABLE job (
	id VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	payload JSON NOT NULL, 
	lane VARCHAR, 
	account_id VARCHAR, 
	run_at BIGINT, 
	attempts INTEGER NOT NULL, 
	leased_by VARCHAR, 
	leased_until BIGINT, 
	started_at BIGINT, 
	finished_at BIGINT, 
	failed_at BIGINT, 
	error TEXT, 
	CONSTRAINT pk_job PRIMARY KEY (id)
);

CREATE INDEX ix_job_kind ON job (kind, run_at);

CREATE INDEX ix_job_lane ON job (lane, id);

CREATE INDEX ix_outbox_mail_state ON outbox_mail (state, tried_at);

CREATE INDEX ix_outbox_mail_tried_at ON outbox_mail (tried_at);

CREATE INDEX ix_testimonial_visible_pinned_first ON testimonial (project_id, is_visible, is_pinned, submitted_at, id);

CREATE INDEX ix_testimonial_visible_best_first ON testimonial (project_id, is_visible, is_pinned, rank, submitted_at, id);

CREATE INDEX ix_project_brand_logo_id ON project (brand_logo_id);

CREATE TABLE insight_visit (
	project_id VARCHAR NOT NULL, 
	visit VARCHAR(40) NOT NULL, 
	form VARCHAR(60) NOT NULL, 
	step INTEGER NOT NULL, 
	CONSTRAINT pk_insight_visit PRIMARY KEY (project_id, visit), 
	CONSTRAINT fk_insight_visit_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE INDEX ix_insight_visit_visit ON insight_visit (visit);

CREATE TABLE insight_path_day (
	project_id VARCHAR NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	form VARCHAR(60) NOT NULL, 
	opened INTEGER NOT NULL, 
	started INTEGER NOT NULL, 
	sent INTEGER NOT NULL, 
	CONSTRAINT pk_insight_path_day PRIMARY KEY (project_id, day, form), 
	CONSTRAINT fk_insight_path_day_project_id_project FOREIGN KEY(project_id) REFERENCES project (id) ON DELETE CASCADE
);

CREATE INDEX ix_insight_path_day_day ON insight_path_day (day);

CREATE INDEX ix_testimonial_unvisited ON testimonial (project_id, created_at, source) WHERE visit IS NULL AND deleted_at IS NULL AND status NOT IN ('demo', 'spam');

CREATE INDEX ix_testimonial_visited ON testimonial (project_id, visit, status, deleted_at) WHERE visit IS NOT NULL;

CREATE TRIGGER count_visit_sent AFTER INSERT ON testimonial FOR EACH ROW WHEN (NEW.visit IS NOT NULL AND NEW.status <> 'spam') BEGIN
  INSERT INTO insight_visit (project_id, visit, form, step) VALUES (NEW.project_id, NEW.visit, coalesce(NEW.form_name, ''), 3) ON CONFLICT (project_id, visit) DO UPDATE SET step = 3;
END;

CREATE TRIGGER count_visit_released AFTER UPDATE OF status ON testimonial FOR EACH ROW WHEN (NEW.visit IS NOT NULL AND NEW.status <> 'spam' AND OLD.status = 'spam') BEGIN
  INSERT INTO insight_visit (project_id, visit, form, step) VALUES (NEW.project_id, NEW.visit, coalesce(NEW.form_name, ''), 3) ON CONFLICT (project_id, visit) DO UPDATE SET step = 3;
END;

CREATE TABLE kept_rating (
	project_id VARCHAR NOT NULL, 
	day INTEGER NOT NULL, 
	rating DOUBLE NOT NULL, 
	number BIGINT NOT NULL, 
	CONSTRAINT pk_kept_rating PRIMARY KEY (project_id, day, rating)
);

CREATE TABLE testimonial_count (
	project_id VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	is_deleted BOOLEAN NOT NULL, 
	kind VARCHAR(10) NOT NULL, 
	source VARCHAR NOT NULL, 
	form_name VARCHAR(60) NOT NULL, 
	halves INTEGER NOT NULL, 
	has_photo BOOLEAN NOT NULL, 
	standing VARCHAR(20) NOT NULL, 
	part BIGINT NOT NULL, 
	number BIGINT NOT NULL, 
	rating_sum BIGINT NOT NULL, 
	CONSTRAINT pk_testimonial_count PRIMARY KEY (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, standing, part)
);

CREATE TRIGGER count_added AFTER INSERT ON testimonial FOR EACH ROW BEGIN
  INSERT INTO testimonial_count (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, standing, part, number, rating_sum) VALUES (NEW.project_id, NEW.status, NEW.deleted_at IS NOT NULL, NEW.kind, NEW.source, coalesce(NEW.form_name, ''), CAST(coalesce(NEW.rating, 0) * 2 AS INTEGER), NEW.avatar_id IS NOT NULL OR NEW.author_avatar IS NOT NULL OR (json_extract(NEW.twitter, '$.avatarUrl')) IS NOT NULL, NEW.standing, 0, 1, 1 * CAST(round(coalesce(NEW.rating, 0) * 1000000000) AS BIGINT)) ON CONFLICT (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, standing, part) DO UPDATE SET number = number + excluded.number, rating_sum = rating_sum + excluded.rating_sum;
END;

CREATE TRIGGER count_removed AFTER DELETE ON testimonial FOR EACH ROW BEGIN
  INSERT INTO testimonial_count (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, standing, part, number, rating_sum) VALUES (OLD.project_id, OLD.status, OLD.deleted_at IS NOT NULL, OLD.kind, OLD.source, coalesce(OLD.form_name, ''), CAST(coalesce(OLD.rating, 0) * 2 AS INTEGER), OLD.avatar_id IS NOT NULL OR OLD.author_avatar IS NOT NULL OR (json_extract(OLD.twitter, '$.avatarUrl')) IS NOT NULL, OLD.standing, 0, -1, -1 * CAST(round(coalesce(OLD.rating, 0) * 1000000000) AS BIGINT)) ON CONFLICT (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, standing, part) DO UPDATE SET number = number + excluded.number, rating_sum = rating_sum + excluded.rating_sum;
END;

CREATE TRIGGER count_changed AFTER UPDATE OF project_id, status, deleted_at, kind, source, form_name, rating, avatar_id, author_avatar, twitter, set_aside, is_overdue ON testimonial FOR EACH ROW BEGIN
  INSERT INTO testimonial_count (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, standing, part, number, rating_sum) VALUES (OLD.project_id, OLD.status, OLD.deleted_at IS NOT NULL, OLD.kind, OLD.source, coalesce(OLD.form_name, ''), CAST(coalesce(OLD.rating, 0) * 2 AS INTEGER), OLD.avatar_id IS NOT NULL OR OLD.author_avatar IS NOT NULL OR (json_extract(OLD.twitter, '$.avatarUrl')) IS NOT NULL, OLD.standing, 0, -1, -1 * CAST(round(coalesce(OLD.rating, 0) * 1000000000) AS BIGINT)) ON CONFLICT (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, standing, part) DO UPDATE SET number = number + excluded.number, rating_sum = rating_sum + excluded.rating_sum;
  INSERT INTO testimonial_count (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, standing, part, number, rating_sum) VALUES (NEW.project_id, NEW.status, NEW.deleted_at IS NOT NULL, NEW.kind, NEW.source, coalesce(NEW.form_name, ''), CAST(coalesce(NEW.rating, 0) * 2 AS INTEGER), NEW.avatar_id IS NOT NULL OR NEW.author_avatar IS NOT NULL OR (json_extract(NEW.twitter, '$.avatarUrl')) IS NOT NULL, NEW.standing, 0, 1, 1 * CAST(round(coalesce(NEW.rating, 0) * 1000000000) AS BIGINT)) ON CONFLICT (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, standing, part) DO UPDATE SET number = number + excluded.number, rating_sum = rating_sum + excluded.rating_sum;
END;

CREATE TRIGGER count_day_added AFTER INSERT ON testimonial FOR EACH ROW BEGIN
  INSERT INTO day_count (project_id, day, part, sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum) SELECT NEW.project_id, CAST(NEW.submitted_at / 86400000 AS INTEGER), 0, CASE WHEN NEW.source = 'public_page' AND NEW.status <> 'spam' THEN 1 ELSE 0 END, CASE WHEN NEW.source = 'public_page' AND NEW.status = 'approved' AND NEW.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL AND NEW.rating < 1.5 THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL AND NEW.rating >= 1.5 AND NEW.rating < 2.5 THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL AND NEW.rating >= 2.5 AND NEW.rating < 3.5 THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL AND NEW.rating >= 3.5 AND NEW.rating < 4.5 THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL AND NEW.rating >= 4.5 THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL THEN 1 * CAST(round(NEW.rating * 1000000000) AS BIGINT) ELSE 0 END WHERE (NEW.source = 'public_page' OR (NEW.standing = 'genuine' AND NEW.rating IS NOT NULL)) ON CONFLICT (project_id, day, part) DO UPDATE SET sent = sent + excluded.sent, approved = approved + excluded.approved, stars_1 = stars_1 + excluded.stars_1, stars_2 = stars_2 + excluded.stars_2, stars_3 = stars_3 + excluded.stars_3, stars_4 = stars_4 + excluded.stars_4, stars_5 = stars_5 + excluded.stars_5, rating_sum = rating_sum + excluded.rating_sum;
END;

CREATE TRIGGER count_day_removed AFTER DELETE ON testimonial FOR EACH ROW BEGIN
  INSERT INTO day_count (project_id, day, part, sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum) SELECT OLD.project_id, CAST(OLD.submitted_at / 86400000 AS INTEGER), 0, CASE WHEN OLD.source = 'public_page' AND OLD.status <> 'spam' THEN -1 ELSE 0 END, CASE WHEN OLD.source = 'public_page' AND OLD.status = 'approved' AND OLD.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL AND OLD.rating < 1.5 THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL AND OLD.rating >= 1.5 AND OLD.rating < 2.5 THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL AND OLD.rating >= 2.5 AND OLD.rating < 3.5 THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL AND OLD.rating >= 3.5 AND OLD.rating < 4.5 THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL AND OLD.rating >= 4.5 THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL THEN -1 * CAST(round(OLD.rating * 1000000000) AS BIGINT) ELSE 0 END WHERE (OLD.source = 'public_page' OR (OLD.standing = 'genuine' AND OLD.rating IS NOT NULL)) ON CONFLICT (project_id, day, part) DO UPDATE SET sent = sent + excluded.sent, approved = approved + excluded.approved, stars_1 = stars_1 + excluded.stars_1, stars_2 = stars_2 + excluded.stars_2, stars_3 = stars_3 + excluded.stars_3, stars_4 = stars_4 + excluded.stars_4, stars_5 = stars_5 + excluded.stars_5, rating_sum = rating_sum + excluded.rating_sum;
END;

CREATE TRIGGER count_day_changed AFTER UPDATE OF project_id, submitted_at, source, status, deleted_at, rating, set_aside, is_overdue ON testimonial FOR EACH ROW BEGIN
  INSERT INTO day_count (project_id, day, part, sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum) SELECT OLD.project_id, CAST(OLD.submitted_at / 86400000 AS INTEGER), 0, CASE WHEN OLD.source = 'public_page' AND OLD.status <> 'spam' THEN -1 ELSE 0 END, CASE WHEN OLD.source = 'public_page' AND OLD.status = 'approved' AND OLD.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL AND OLD.rating < 1.5 THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL AND OLD.rating >= 1.5 AND OLD.rating < 2.5 THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL AND OLD.rating >= 2.5 AND OLD.rating < 3.5 THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL AND OLD.rating >= 3.5 AND OLD.rating < 4.5 THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL AND OLD.rating >= 4.5 THEN -1 ELSE 0 END, CASE WHEN OLD.standing = 'genuine' AND OLD.rating IS NOT NULL THEN -1 * CAST(round(OLD.rating * 1000000000) AS BIGINT) ELSE 0 END WHERE (OLD.source = 'public_page' OR (OLD.standing = 'genuine' AND OLD.rating IS NOT NULL)) ON CONFLICT (project_id, day, part) DO UPDATE SET sent = sent + excluded.sent, approved = approved + excluded.approved, stars_1 = stars_1 + excluded.stars_1, stars_2 = stars_2 + excluded.stars_2, stars_3 = stars_3 + excluded.stars_3, stars_4 = stars_4 + excluded.stars_4, stars_5 = stars_5 + excluded.stars_5, rating_sum = rating_sum + excluded.rating_sum;
  INSERT INTO day_count (project_id, day, part, sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum) SELECT NEW.project_id, CAST(NEW.submitted_at / 86400000 AS INTEGER), 0, CASE WHEN NEW.source = 'public_page' AND NEW.status <> 'spam' THEN 1 ELSE 0 END, CASE WHEN NEW.source = 'public_page' AND NEW.status = 'approved' AND NEW.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL AND NEW.rating < 1.5 THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL AND NEW.rating >= 1.5 AND NEW.rating < 2.5 THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL AND NEW.rating >= 2.5 AND NEW.rating < 3.5 THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL AND NEW.rating >= 3.5 AND NEW.rating < 4.5 THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL AND NEW.rating >= 4.5 THEN 1 ELSE 0 END, CASE WHEN NEW.standing = 'genuine' AND NEW.rating IS NOT NULL THEN 1 * CAST(round(NEW.rating * 1000000000) AS BIGINT) ELSE 0 END WHERE (NEW.source = 'public_page' OR (NEW.standing = 'genuine' AND NEW.rating IS NOT NULL)) ON CONFLICT (project_id, day, part) DO UPDATE SET sent = sent + excluded.sent, approved = approved + excluded.approved, stars_1 = stars_1 + excluded.stars_1, stars_2 = stars_2 + excluded.stars_2, stars_3 = stars_3 + excluded.stars_3, stars_4 = stars_4 + excluded.stars_4, stars_5 = stars_5 + excluded.stars_5, rating_sum = rating_sum + excluded.rating_sum;
END;

CREATE TRIGGER keep_rating AFTER DELETE ON testimonial FOR EACH ROW WHEN OLD.standing = 'genuine' AND OLD.source = 'public_page' AND OLD.rating IS NOT NULL BEGIN
  INSERT INTO kept_rating (project_id, day, rating, number) VALUES (OLD.project_id, CAST(OLD.submitted_at / 86400000 AS INTEGER), OLD.rating, 1) ON CONFLICT (project_id, day, rating) DO UPDATE SET number = kept_rating.number + 1;
END;

CREATE TRIGGER forget_kept AFTER DELETE ON project FOR EACH ROW BEGIN
  DELETE FROM kept_rating WHERE project_id = OLD.id;
END;

CREATE INDEX ix_testimonial_avatar_id ON testimonial (avatar_id) WHERE avatar_id IS NOT NULL;

CREATE INDEX ix_testimonial_import_id ON testimonial (import_id) WHERE import_id IS NOT NULL;

CREATE INDEX ix_testimonial_words ON testimonial (text_fingerprint, project_id, created_at) WHERE text_fingerprint IS NOT NULL;

CREATE UNIQUE INDEX uq_testimonial_project_id_import_key ON testimonial (project_id, import_key) WHERE import_key IS NOT NULL;

CREATE UNIQUE INDEX uq_testimonial_project_id_external_id ON testimonial (project_id, external_id) WHERE external_id IS NOT NULL;

CREATE UNIQUE INDEX uq_testimonial_project_id_purchase_reference ON testimonial (project_id, purchase_reference) WHERE purchase_reference IS NOT NULL;

CREATE INDEX ix_testimonial_waiting ON testimonial (created_at) WHERE status = 'pending' AND deleted_at IS NULL AND NOT is_overdue;

CREATE VIRTUAL TABLE testimonial_search USING fts5(project, words, content='', prefix='2', tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'");

CREATE TABLE signing_key (
	id VARCHAR(16) NOT NULL, 
	public_key VARCHAR(64) NOT NULL, 
	private_key VARCHAR(200) NOT NULL, 
	created_at BIGINT NOT NULL, 
	retired_at BIGINT, 
	CONSTRAINT pk_signing_key PRIMARY KEY (id)
);

CREATE TABLE record_head (
	project_id VARCHAR NOT NULL, 
	seq BIGINT NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	time BIGINT NOT NULL, 
	key_id VARCHAR(16) NOT NULL, 
	signature VARCHAR(128) NOT NULL, 
	CONSTRAINT pk_record_head PRIMARY KEY (project_id)
);

CREATE INDEX ix_event_no_history ON event (id) WHERE "before" IS NULL AND entry IS NULL;

CREATE INDEX ix_event_entry ON event (project_id, number) WHERE entry IS NOT NULL;

CREATE INDEX ix_event_ended ON event (id) WHERE before IS NULL AND entry IS NOT NULL AND type <> '';

CREATE TRIGGER forget_history AFTER DELETE ON testimonial FOR EACH ROW BEGIN UPDATE event SET "before" = NULL, actor = NULL, salt = NULL WHERE testimonial_id = OLD.id AND ("before" IS NOT NULL OR salt IS NOT NULL); END;

CREATE TRIGGER keep_history BEFORE DELETE ON account FOR EACH ROW BEGIN UPDATE event SET account_id = NULL, type = '' WHERE account_id = OLD.id AND ("before" IS NOT NULL OR entry IS NOT NULL) AND project_id IN (SELECT project.id FROM project WHERE project.account_id <> OLD.id); END;

CREATE TRIGGER end_record AFTER DELETE ON project FOR EACH ROW BEGIN UPDATE event SET entry = NULL, salt = NULL WHERE project_id = OLD.id AND entry IS NOT NULL; END;

CREATE INDEX ix_testimonial_taken_out ON testimonial (project_id, created_at, id) WHERE set_aside IS NOT NULL OR status = 'withdrawn';

CREATE INDEX ix_event_reason ON event (project_id, testimonial_id) WHERE reason IS NOT NULL;

CREATE TRIGGER search_added AFTER INSERT ON testimonial FOR EACH ROW BEGIN
  INSERT OR IGNORE INTO testimonial_search_row (testimonial_id) VALUES (NEW.id);
END;

CREATE TRIGGER search_removed AFTER DELETE ON testimonial FOR EACH ROW BEGIN
  INSERT INTO testimonial_search (testimonial_search, rowid, project, words) SELECT 'delete', number, OLD.project_id, (SELECT CASE WHEN whole NOT GLOB '*[฀-໿က-႟ក-៿぀-ヿ㐀-䶿一-鿿𠀀-𱍏]*' THEN whole ELSE (WITH RECURSIVE part (it, rest) AS (SELECT substr(whole, 1, 50), substr(whole, 51) UNION ALL SELECT substr(rest, 1, 50), substr(rest, 51) FROM part WHERE rest <> ''), place (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM place WHERE at < 50) SELECT group_concat(CASE WHEN substr(it, at, 1) GLOB '[฀-໿က-႟ក-៿぀-ヿ㐀-䶿一-鿿𠀀-𱍏]' THEN ' ' || substr(it, at, 1) || ' ' ELSE substr(it, at, 1) END, '') FROM part CROSS JOIN place) END FROM (SELECT coalesce(OLD.author_name, '') || ' ' || coalesce(OLD.author_role, '') || ' ' || coalesce(OLD.author_company, '') || ' ' || coalesce(OLD.author_email, '') || ' ' || coalesce(OLD.text, '') || ' ' || (SELECT coalesce(group_concat(value, ' '), '') FROM json_tree(OLD.answers) WHERE key = 'answer') AS whole)) FROM testimonial_search_row WHERE testimonial_id = OLD.id AND number <= (SELECT max(id) FROM testimonial_search_docsize);
  DELETE FROM testimonial_search_row WHERE testimonial_id = OLD.id;
END;

CREATE TRIGGER search_changed AFTER UPDATE OF project_id, author_name, author_role, author_company, author_email, text, answers ON testimonial FOR EACH ROW BEGIN
  INSERT INTO testimonial_search (testimonial_search, rowid, project, words) SELECT 'delete', number, OLD.project_id, (SELECT CASE WHEN whole NOT GLOB '*[฀-໿က-႟ក-៿぀-ヿ㐀-䶿一-鿿𠀀-𱍏]*' THEN whole ELSE (WITH RECURSIVE part (it, rest) AS (SELECT substr(whole, 1, 50), substr(whole, 51) UNION ALL SELECT substr(rest, 1, 50), substr(rest, 51) FROM part WHERE rest <> ''), place (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM place WHERE at < 50) SELECT group_concat(CASE WHEN substr(it, at, 1) GLOB '[฀-໿က-႟ក-៿぀-ヿ㐀-䶿一-鿿𠀀-𱍏]' THEN ' ' || substr(it, at, 1) || ' ' ELSE substr(it, at, 1) END, '') FROM part CROSS JOIN place) END FROM (SELECT coalesce(OLD.author_name, '') || ' ' || coalesce(OLD.author_role, '') || ' ' || coalesce(OLD.author_company, '') || ' ' || coalesce(OLD.author_email, '') || ' ' || coalesce(OLD.text, '') || ' ' || (SELECT coalesce(group_concat(value, ' '), '') FROM json_tree(OLD.answers) WHERE key = 'answer') AS whole)) FROM testimonial_search_row WHERE testimonial_id = OLD.id AND number <= (SELECT max(id) FROM testimonial_search_docsize);
  INSERT OR IGNORE INTO testimonial_search_row (testimonial_id) VALUES (NEW.id);
  INSERT INTO testimonial_search (rowid, project, words) SELECT number, NEW.project_id, (SELECT CASE WHEN whole NOT GLOB '*[฀-໿က-႟ក-៿぀-ヿ㐀-䶿一-鿿𠀀-𱍏]*' THEN whole ELSE (WITH RECURSIVE part (it, rest) AS (SELECT substr(whole, 1, 50), substr(whole, 51) UNION ALL SELECT substr(rest, 1, 50), substr(rest, 51) FROM part WHERE rest <> ''), place (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM place WHERE at < 50) SELECT group_concat(CASE WHEN substr(it, at, 1) GLOB '[฀-໿က-႟ក-៿぀-ヿ㐀-䶿一-鿿𠀀-𱍏]' THEN ' ' || substr(it, at, 1) || ' ' ELSE substr(it, at, 1) END, '') FROM part CROSS JOIN place) END FROM (SELECT coalesce(NEW.author_name, '') || ' ' || coalesce(NEW.author_role, '') || ' ' || coalesce(NEW.author_company, '') || ' ' || coalesce(NEW.author_email, '') || ' ' || coalesce(NEW.text, '') || ' ' || (SELECT coalesce(group_concat(value, ' '), '') FROM json_tree(NEW.answers) WHERE key = 'answer') AS whole)) FROM testimonial_search_row WHERE testimonial_id = NEW.id AND number <= (SELECT max(id) FROM testimonial_search_docsize);
END;

INSERT INTO alembic_version (version_num) VALUES ('0020')
