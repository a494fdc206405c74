CREATE SEQUENCE count_part;

CREATE SEQUENCE day_part;

CREATE TABLE account (
    id character varying NOT NULL,
    email character varying(254) NOT NULL,
    key_hash character varying NOT NULL,
    key_last_four character varying NOT NULL,
    key_created_at bigint NOT NULL,
    claim_nonce_hash character varying,
    claim_expires_at bigint NOT NULL,
    claimed_at bigint,
    password_hash text,
    project_limit integer,
    has_created_project boolean DEFAULT false NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    plan character varying,
    billing_customer character varying,
    plan_changed_at bigint,
    browser_generation integer DEFAULT 0 NOT NULL,
    own_nonce_hash character varying,
    display_name character varying(80),
    requires_strong boolean DEFAULT false NOT NULL,
    password_set_at bigint,
    suspended_at bigint,
    suspended_reason text,
    hides_widgets boolean DEFAULT false NOT NULL,
    language character varying(8),
    CONSTRAINT pk_account PRIMARY KEY (id),
    CONSTRAINT uq_account_email UNIQUE (email)
);

CREATE INDEX ix_account_billing_customer ON account USING btree (billing_customer);

CREATE INDEX ix_account_claim_expires_at ON account USING btree (claim_expires_at);

CREATE TABLE outbox_mail (
    id character varying NOT NULL,
    purpose character varying NOT NULL,
    recipient character varying NOT NULL,
    subject character varying NOT NULL,
    text text NOT NULL,
    html text NOT NULL,
    state character varying NOT NULL,
    attempts integer NOT NULL,
    next_attempt_at bigint NOT NULL,
    last_error text,
    created_at bigint NOT NULL,
    sent_at bigint,
    list_unsubscribe text,
    reply_to character varying,
    sender_name character varying(120),
    CONSTRAINT pk_outbox_mail PRIMARY KEY (id)
);

CREATE INDEX ix_outbox_mail_next_attempt_at ON outbox_mail USING btree (next_attempt_at);

CREATE INDEX ix_outbox_mail_state ON outbox_mail USING btree (state, next_attempt_at);

CREATE TABLE rate_limit_counter (
    key character varying NOT NULL,
    hits integer NOT NULL,
    expires_at double precision NOT NULL,
    CONSTRAINT pk_rate_limit_counter PRIMARY KEY (key)
);

CREATE INDEX ix_rate_limit_counter_expires_at ON rate_limit_counter USING btree (expires_at);

CREATE TABLE project (
    id character varying NOT NULL,
    account_id character varying NOT NULL,
    status character varying NOT NULL,
    business_name character varying NOT NULL,
    slug character varying(60) NOT NULL,
    page_config json NOT NULL,
    widget_config json NOT NULL,
    feed_version bigint NOT NULL,
    last_testimonial_at bigint,
    deleted_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    dashboard_config json DEFAULT '{}'::json NOT NULL,
    logo_id character varying,
    widget_design json DEFAULT '{}'::json NOT NULL,
    widget_draft json,
    external_id character varying(120),
    page_design json DEFAULT '{}'::json NOT NULL,
    cover_id character varying,
    portrait_id character varying,
    private_questions json DEFAULT '[]'::json NOT NULL,
    purchase_secret character varying,
    own_host character varying(253),
    CONSTRAINT pk_project PRIMARY KEY (id),
    CONSTRAINT uq_project_slug UNIQUE (slug),
    CONSTRAINT fk_project_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE INDEX ix_project_account_id_created_at ON project USING btree (account_id, created_at);

CREATE INDEX ix_project_cover_id ON project USING btree (cover_id);

CREATE INDEX ix_project_deleted_at ON project USING btree (deleted_at);

CREATE INDEX ix_project_logo_id ON project USING btree (logo_id);

CREATE INDEX ix_project_portrait_id ON project USING btree (portrait_id);

CREATE UNIQUE INDEX uq_project_account_id_external_id ON project USING btree (account_id, external_id);

CREATE UNIQUE INDEX uq_project_own_host ON project USING btree (own_host);

CREATE TABLE session (
    id character varying NOT NULL,
    account_id character varying NOT NULL,
    token_hash character varying NOT NULL,
    label character varying(200) NOT NULL,
    created_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    proved_at bigint,
    method character varying(20) DEFAULT 'password'::character varying NOT NULL,
    CONSTRAINT pk_session PRIMARY KEY (id),
    CONSTRAINT uq_session_token_hash UNIQUE (token_hash),
    CONSTRAINT fk_session_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE INDEX ix_session_account_id ON session USING btree (account_id);

CREATE INDEX ix_session_expires_at ON session USING btree (expires_at);

CREATE TABLE old_slug (
    slug character varying(60) NOT NULL,
    project_id character varying NOT NULL,
    renamed_at bigint NOT NULL,
    CONSTRAINT pk_old_slug PRIMARY KEY (slug),
    CONSTRAINT fk_old_slug_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_old_slug_project_id ON old_slug USING btree (project_id);

CREATE TABLE testimonial (
    id character varying NOT NULL,
    project_id character varying NOT NULL,
    status character varying NOT NULL,
    source character varying NOT NULL,
    author_name character varying(120) NOT NULL,
    author_email character varying(254),
    author_role character varying(120) NOT NULL,
    author_company character varying(120),
    author_avatar character varying(500),
    twitter json,
    text text NOT NULL,
    rating double precision,
    is_pinned boolean DEFAULT false NOT NULL,
    submitted_at bigint NOT NULL,
    reviewed_at bigint,
    consent_text text,
    consent_language character varying(35),
    consented_at bigint,
    submission_key character varying(64),
    original_text text,
    deleted_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    is_visible boolean GENERATED ALWAYS AS (status IN ('approved', 'demo') AND deleted_at IS NULL) STORED NOT NULL,
    avatar_id character varying,
    held_for character varying,
    text_fingerprint character varying(32),
    email_verified_at bigint,
    consent_withdrawn_at bigint,
    returned_at bigint,
    import_key character varying(64),
    highlights json,
    reply text,
    replied_at bigint,
    rank double precision GENERATED ALWAYS AS (COALESCE(rating, (0)::double precision)) STORED NOT NULL,
    external_id character varying(120),
    kind character varying(10) DEFAULT 'written'::character varying NOT NULL,
    answers json,
    form_name character varying(60),
    is_rewarded boolean DEFAULT false NOT NULL,
    purchase_reference character varying(120),
    purchase_verified_at bigint,
    import_id character varying,
    CONSTRAINT pk_testimonial PRIMARY KEY (id),
    CONSTRAINT uq_testimonial_submission_key UNIQUE (submission_key),
    CONSTRAINT fk_testimonial_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_testimonial_avatar_id ON testimonial USING btree (avatar_id);

CREATE INDEX ix_testimonial_by_time ON testimonial USING btree (project_id, created_at, id, status, deleted_at, source, kind, form_name, rating);

CREATE INDEX ix_testimonial_form ON testimonial USING btree (project_id, form_name, created_at, id) WHERE (form_name IS NOT NULL);

CREATE INDEX ix_testimonial_import_id ON testimonial USING btree (import_id);

CREATE INDEX ix_testimonial_inbox ON testimonial USING btree (project_id, status, created_at, id, deleted_at, source, kind, form_name, rating);

CREATE INDEX ix_testimonial_trash ON testimonial USING btree (project_id, created_at, id) WHERE (deleted_at IS NOT NULL);

CREATE INDEX ix_testimonial_untold ON testimonial USING btree (project_id, returned_at, created_at) WHERE (((status)::text = 'pending'::text) AND ((source)::text = 'public_page'::text) AND (held_for IS NULL) AND (deleted_at IS NULL));

CREATE INDEX ix_testimonial_visible_best_first ON testimonial USING btree (project_id, is_visible, is_pinned, rank, created_at, id);

CREATE INDEX ix_testimonial_visible_by_time ON testimonial USING btree (project_id, is_visible, created_at, id);

CREATE INDEX ix_testimonial_visible_pinned_first ON testimonial USING btree (project_id, is_visible, is_pinned, created_at, id);

CREATE INDEX ix_testimonial_words ON testimonial USING btree (text_fingerprint, project_id, created_at);

CREATE UNIQUE INDEX uq_testimonial_project_id_external_id ON testimonial USING btree (project_id, external_id);

CREATE UNIQUE INDEX uq_testimonial_project_id_import_key ON testimonial USING btree (project_id, import_key);

CREATE UNIQUE INDEX uq_testimonial_project_id_purchase_reference ON testimonial USING btree (project_id, purchase_reference);

CREATE TABLE testimonial_change (
    id character varying NOT NULL,
    testimonial_id character varying NOT NULL,
    batch_id character varying NOT NULL,
    actor character varying(254) NOT NULL,
    action character varying NOT NULL,
    before json NOT NULL,
    created_at bigint NOT NULL,
    project_id character varying,
    undone_at bigint,
    is_by_mail boolean DEFAULT false NOT NULL,
    CONSTRAINT pk_testimonial_change PRIMARY KEY (id),
    CONSTRAINT fk_testimonial_change_testimonial_id_testimonial FOREIGN KEY (testimonial_id) REFERENCES testimonial(id) ON DELETE CASCADE
);

CREATE INDEX ix_testimonial_change_batch_id ON testimonial_change USING btree (batch_id);

CREATE INDEX ix_testimonial_change_project_id_created_at ON testimonial_change USING btree (project_id, created_at);

CREATE INDEX ix_testimonial_change_testimonial_id ON testimonial_change USING btree (testimonial_id);

CREATE TABLE image (
    id character varying NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    content bytea NOT NULL,
    created_at bigint NOT NULL,
    is_held boolean DEFAULT false NOT NULL,
    CONSTRAINT pk_image PRIMARY KEY (id)
);

CREATE TABLE project_member (
    project_id character varying NOT NULL,
    account_id character varying NOT NULL,
    role character varying NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_project_member PRIMARY KEY (project_id, account_id),
    CONSTRAINT fk_project_member_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT fk_project_member_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_project_member_account_id ON project_member USING btree (account_id);

CREATE TABLE notification_choice (
    project_id character varying NOT NULL,
    account_id character varying NOT NULL,
    mode character varying NOT NULL,
    told_until bigint,
    last_sent_at bigint,
    told_of_proposals_at bigint,
    decides_by_mail boolean DEFAULT false NOT NULL,
    is_monthly boolean DEFAULT false NOT NULL,
    told_of_month character varying(7),
    CONSTRAINT pk_notification_choice PRIMARY KEY (project_id, account_id),
    CONSTRAINT fk_notification_choice_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT fk_notification_choice_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_notification_choice_account_id ON notification_choice USING btree (account_id);

CREATE TABLE billing_subscription (
    id character varying NOT NULL,
    customer character varying NOT NULL,
    account_id character varying,
    plan character varying NOT NULL,
    is_running boolean NOT NULL,
    told_at bigint NOT NULL,
    CONSTRAINT pk_billing_subscription PRIMARY KEY (id),
    CONSTRAINT fk_billing_subscription_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE INDEX ix_billing_subscription_account_id ON billing_subscription USING btree (account_id);

CREATE INDEX ix_billing_subscription_customer ON billing_subscription USING btree (customer);

CREATE TABLE widget_sighting (
    project_id character varying NOT NULL,
    origin character varying(300) NOT NULL,
    seen_at bigint NOT NULL,
    CONSTRAINT pk_widget_sighting PRIMARY KEY (project_id, origin),
    CONSTRAINT fk_widget_sighting_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE TABLE testimonial_tag (
    testimonial_id character varying NOT NULL,
    name character varying(40) NOT NULL,
    project_id character varying NOT NULL,
    CONSTRAINT pk_testimonial_tag PRIMARY KEY (testimonial_id, name),
    CONSTRAINT fk_testimonial_tag_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE,
    CONSTRAINT fk_testimonial_tag_testimonial_id_testimonial FOREIGN KEY (testimonial_id) REFERENCES testimonial(id) ON DELETE CASCADE
);

CREATE INDEX ix_testimonial_tag_project_id_name ON testimonial_tag USING btree (project_id, name, testimonial_id);

CREATE TABLE invitation_batch (
    id character varying NOT NULL,
    project_id character varying NOT NULL,
    actor character varying(254) NOT NULL,
    subject character varying(160) NOT NULL,
    message text NOT NULL,
    language character varying(35) NOT NULL,
    remind_after_days integer,
    size integer NOT NULL,
    created_at bigint NOT NULL,
    form_name character varying(60),
    CONSTRAINT pk_invitation_batch PRIMARY KEY (id),
    CONSTRAINT fk_invitation_batch_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_invitation_batch_project_id ON invitation_batch USING btree (project_id);

CREATE TABLE invitation (
    id character varying NOT NULL,
    project_id character varying NOT NULL,
    batch_id character varying NOT NULL,
    email character varying(254) NOT NULL,
    email_hash character varying NOT NULL,
    name character varying(120) NOT NULL,
    company character varying(120),
    next_mail_at bigint,
    sent_at bigint,
    reminded_at bigint,
    opened_at bigint,
    answered_at bigint,
    declined_at bigint,
    mail_id character varying,
    testimonial_id character varying,
    created_at bigint NOT NULL,
    started_at bigint,
    purchase_reference character varying(120),
    CONSTRAINT pk_invitation PRIMARY KEY (id),
    CONSTRAINT fk_invitation_batch_id_invitation_batch FOREIGN KEY (batch_id) REFERENCES invitation_batch(id) ON DELETE CASCADE,
    CONSTRAINT fk_invitation_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE,
    CONSTRAINT fk_invitation_testimonial_id_testimonial FOREIGN KEY (testimonial_id) REFERENCES testimonial(id) ON DELETE SET NULL
);

CREATE INDEX ix_invitation_batch_id ON invitation USING btree (batch_id);

CREATE INDEX ix_invitation_email_hash ON invitation USING btree (email_hash);

CREATE INDEX ix_invitation_next_mail_at ON invitation USING btree (next_mail_at);

CREATE INDEX ix_invitation_project_id_created_at ON invitation USING btree (project_id, created_at, id);

CREATE INDEX ix_invitation_reminded_at ON invitation USING btree (reminded_at);

CREATE INDEX ix_invitation_sent_at ON invitation USING btree (sent_at);

CREATE INDEX ix_invitation_testimonial_id ON invitation USING btree (testimonial_id);

CREATE UNIQUE INDEX uq_invitation_project_id_email ON invitation USING btree (project_id, email);

CREATE TABLE unsubscribed_address (
    account_id character varying NOT NULL,
    email_hash character varying NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_unsubscribed_address PRIMARY KEY (account_id, email_hash),
    CONSTRAINT fk_unsubscribed_address_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE TABLE share_picture (
    project_id character varying NOT NULL,
    fingerprint character varying NOT NULL,
    content bytea NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_share_picture PRIMARY KEY (project_id),
    CONSTRAINT fk_share_picture_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE TABLE background_job (
    name character varying NOT NULL,
    leased_until bigint,
    leased_by character varying,
    started_at bigint,
    finished_at bigint,
    failed_at bigint,
    error text,
    CONSTRAINT pk_background_job PRIMARY KEY (name)
);

CREATE TABLE widget_script (
    digest character varying(16) NOT NULL,
    content bytea NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_widget_script PRIMARY KEY (digest)
);

CREATE TABLE event (
    id character varying NOT NULL,
    account_id character varying,
    project_id character varying,
    type character varying(60) NOT NULL,
    actor_kind character varying(20) NOT NULL,
    actor_name character varying,
    network character varying,
    times integer NOT NULL,
    details json NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_event PRIMARY KEY (id),
    CONSTRAINT fk_event_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE INDEX ix_event_account_id_id ON event USING btree (account_id, id);

CREATE INDEX ix_event_project_id_id ON event USING btree (project_id, id);

CREATE INDEX ix_event_with_network ON event USING btree (id) WHERE (network IS NOT NULL);

CREATE TABLE link_request (
    id character varying NOT NULL,
    purpose character varying NOT NULL,
    email character varying(254) NOT NULL,
    CONSTRAINT pk_link_request PRIMARY KEY (id)
);

CREATE TABLE former_address (
    id character varying NOT NULL,
    account_id character varying NOT NULL,
    email character varying(254) NOT NULL,
    left_at bigint NOT NULL,
    CONSTRAINT pk_former_address PRIMARY KEY (id),
    CONSTRAINT fk_former_address_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE INDEX ix_former_address_account_id ON former_address USING btree (account_id);

CREATE INDEX ix_former_address_email ON former_address USING btree (email);

CREATE INDEX ix_former_address_left_at ON former_address USING btree (left_at);

CREATE TABLE member_invitation (
    project_id character varying NOT NULL,
    email character varying(254) NOT NULL,
    role character varying NOT NULL,
    nonce_hash character varying NOT NULL,
    invited_by character varying(254) NOT NULL,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    invited_by_id character varying,
    CONSTRAINT pk_member_invitation PRIMARY KEY (project_id, email),
    CONSTRAINT fk_member_invitation_invited_by_id_account FOREIGN KEY (invited_by_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT fk_member_invitation_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_member_invitation_expires_at ON member_invitation USING btree (expires_at);

CREATE INDEX ix_member_invitation_invited_by_id ON member_invitation USING btree (invited_by_id);

CREATE TABLE secret_mark (
    id integer NOT NULL,
    mark character varying NOT NULL,
    CONSTRAINT pk_secret_mark PRIMARY KEY (id)
);

CREATE TABLE saved_widget (
    id character varying NOT NULL,
    project_id character varying NOT NULL,
    name character varying(40) NOT NULL,
    config json NOT NULL,
    design json NOT NULL,
    draft json,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT pk_saved_widget PRIMARY KEY (id),
    CONSTRAINT uq_saved_widget_project_id_name UNIQUE (project_id, name),
    CONSTRAINT fk_saved_widget_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE TABLE testimonial_picture (
    testimonial_id character varying NOT NULL,
    look character varying(20) NOT NULL,
    size character varying(20) NOT NULL,
    project_id character varying NOT NULL,
    fingerprint character varying NOT NULL,
    content bytea NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_testimonial_picture PRIMARY KEY (testimonial_id, look, size),
    CONSTRAINT fk_testimonial_picture_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE,
    CONSTRAINT fk_testimonial_picture_testimonial_id_testimonial FOREIGN KEY (testimonial_id) REFERENCES testimonial(id) ON DELETE CASCADE
);

CREATE INDEX ix_testimonial_picture_project_id_created_at ON testimonial_picture USING btree (project_id, created_at);

CREATE TABLE idempotency_key (
    owner character varying(64) NOT NULL,
    key character varying(255) NOT NULL,
    fingerprint character varying(64) NOT NULL,
    status integer NOT NULL,
    body bytea NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_idempotency_key PRIMARY KEY (owner, key)
);

CREATE INDEX ix_idempotency_key_created_at ON idempotency_key USING btree (created_at);

CREATE TABLE access_token (
    id character varying NOT NULL,
    account_id character varying NOT NULL,
    project_id character varying,
    name character varying(80) NOT NULL,
    scopes json NOT NULL,
    token_hash character varying,
    last_four character varying NOT NULL,
    made_by_id character varying NOT NULL,
    client character varying(20) NOT NULL,
    expires_at bigint,
    last_used_at bigint,
    last_used_for character varying(80),
    last_used_by character varying(20),
    revoked_at bigint,
    created_at bigint NOT NULL,
    CONSTRAINT pk_access_token PRIMARY KEY (id),
    CONSTRAINT uq_access_token_token_hash UNIQUE (token_hash),
    CONSTRAINT fk_access_token_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT fk_access_token_made_by_id_account FOREIGN KEY (made_by_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT fk_access_token_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_access_token_account_id_created_at ON access_token USING btree (account_id, created_at);

CREATE INDEX ix_access_token_made_by_id ON access_token USING btree (made_by_id);

CREATE INDEX ix_access_token_project_id ON access_token USING btree (project_id);

CREATE TABLE oauth_code (
    code_hash character varying NOT NULL,
    client_hash character varying NOT NULL,
    account_id character varying NOT NULL,
    made_by_id character varying NOT NULL,
    project_id character varying,
    scopes json NOT NULL,
    redirect_uri character varying(500) NOT NULL,
    code_challenge character varying(128) NOT NULL,
    token_days integer,
    expires_at bigint NOT NULL,
    CONSTRAINT pk_oauth_code PRIMARY KEY (code_hash),
    CONSTRAINT fk_oauth_code_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT fk_oauth_code_made_by_id_account FOREIGN KEY (made_by_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT fk_oauth_code_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_oauth_code_account_id ON oauth_code USING btree (account_id);

CREATE INDEX ix_oauth_code_expires_at ON oauth_code USING btree (expires_at);

CREATE INDEX ix_oauth_code_made_by_id ON oauth_code USING btree (made_by_id);

CREATE INDEX ix_oauth_code_project_id ON oauth_code USING btree (project_id);

CREATE TABLE webhook_endpoint (
    id character varying NOT NULL,
    project_id character varying NOT NULL,
    url character varying(500) NOT NULL,
    events json NOT NULL,
    secret character varying NOT NULL,
    old_secret character varying,
    old_secret_until bigint,
    read_to character varying NOT NULL,
    is_active boolean NOT NULL,
    failing_since bigint,
    switched_off_because character varying(200),
    created_by character varying(254) NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT pk_webhook_endpoint PRIMARY KEY (id),
    CONSTRAINT fk_webhook_endpoint_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_webhook_endpoint_project_id ON webhook_endpoint USING btree (project_id);

CREATE TABLE access_request (
    id character varying NOT NULL,
    account_id character varying NOT NULL,
    project_id character varying,
    name character varying(80) NOT NULL,
    reason character varying(500) NOT NULL,
    scopes json NOT NULL,
    asked_by character varying(80) NOT NULL,
    status character varying(20) NOT NULL,
    token_id character varying,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    decided_at bigint,
    CONSTRAINT pk_access_request PRIMARY KEY (id),
    CONSTRAINT fk_access_request_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT fk_access_request_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE,
    CONSTRAINT fk_access_request_token_id_access_token FOREIGN KEY (token_id) REFERENCES access_token(id) ON DELETE SET NULL
);

CREATE INDEX ix_access_request_account_id ON access_request USING btree (account_id);

CREATE INDEX ix_access_request_expires_at ON access_request USING btree (expires_at);

CREATE INDEX ix_access_request_project_id ON access_request USING btree (project_id);

CREATE INDEX ix_access_request_token_id ON access_request USING btree (token_id);

CREATE TABLE proposal (
    id character varying NOT NULL,
    project_id character varying NOT NULL,
    kind character varying(40) NOT NULL,
    target_id character varying,
    "values" json NOT NULL,
    before json NOT NULL,
    reason character varying(500) NOT NULL,
    status character varying(20) NOT NULL,
    actor_kind character varying(20) NOT NULL,
    actor_name character varying,
    token_id character varying,
    result json,
    note character varying(500),
    created_at bigint NOT NULL,
    decided_at bigint,
    decided_by_id character varying,
    CONSTRAINT pk_proposal PRIMARY KEY (id),
    CONSTRAINT fk_proposal_decided_by_id_account FOREIGN KEY (decided_by_id) REFERENCES account(id) ON DELETE SET NULL,
    CONSTRAINT fk_proposal_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE,
    CONSTRAINT fk_proposal_token_id_access_token FOREIGN KEY (token_id) REFERENCES access_token(id) ON DELETE SET NULL
);

CREATE INDEX ix_proposal_decided_by_id ON proposal USING btree (decided_by_id);

CREATE INDEX ix_proposal_project_id_status_id ON proposal USING btree (project_id, status, id);

CREATE INDEX ix_proposal_token_id ON proposal USING btree (token_id);

CREATE TABLE webhook_delivery (
    id character varying NOT NULL,
    endpoint_id character varying NOT NULL,
    event_id character varying NOT NULL,
    event_type character varying(60) NOT NULL,
    subject character varying,
    body text NOT NULL,
    state character varying(10) NOT NULL,
    tries integer NOT NULL,
    next_try_at bigint,
    leased_until bigint,
    attempts json NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_webhook_delivery PRIMARY KEY (id),
    CONSTRAINT fk_webhook_delivery_endpoint_id_webhook_endpoint FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoint(id) ON DELETE CASCADE
);

CREATE INDEX ix_webhook_delivery_due ON webhook_delivery USING btree (next_try_at, id) WHERE ((state)::text = 'due'::text);

CREATE INDEX ix_webhook_delivery_endpoint_id_id ON webhook_delivery USING btree (endpoint_id, id);

CREATE INDEX ix_webhook_delivery_subject ON webhook_delivery USING btree (endpoint_id, subject, event_id) WHERE ((state)::text = 'due'::text);

CREATE TABLE collection_form (
    id character varying NOT NULL,
    project_id character varying NOT NULL,
    name character varying(60) NOT NULL,
    title character varying(80) NOT NULL,
    design json NOT NULL,
    is_open boolean NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT pk_collection_form PRIMARY KEY (id),
    CONSTRAINT fk_collection_form_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX uq_collection_form_project_id_name ON collection_form USING btree (project_id, name);

CREATE TABLE recording (
    id character varying NOT NULL,
    project_id character varying NOT NULL,
    testimonial_id character varying,
    kind character varying(10) NOT NULL,
    state character varying(10) NOT NULL,
    size bigint NOT NULL,
    received bigint NOT NULL,
    media_type character varying(60),
    codecs character varying(80),
    seconds double precision,
    width integer,
    height integer,
    poster_id character varying,
    transcript text NOT NULL,
    shows_transcript boolean NOT NULL,
    captions text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    CONSTRAINT pk_recording PRIMARY KEY (id),
    CONSTRAINT uq_recording_testimonial_id UNIQUE (testimonial_id),
    CONSTRAINT fk_recording_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE,
    CONSTRAINT fk_recording_testimonial_id_testimonial FOREIGN KEY (testimonial_id) REFERENCES testimonial(id) ON DELETE CASCADE
);

CREATE INDEX ix_recording_poster_id ON recording USING btree (poster_id);

CREATE INDEX ix_recording_project_id_created_at ON recording USING btree (project_id, created_at);

CREATE TABLE table_import (
    id character varying NOT NULL,
    project_id character varying NOT NULL,
    account_id character varying,
    actor character varying(254) NOT NULL,
    file_name character varying(255) NOT NULL,
    state character varying(20) NOT NULL,
    options json NOT NULL,
    content bytea,
    total integer NOT NULL,
    done integer NOT NULL,
    added integer NOT NULL,
    photos integer NOT NULL,
    photos_done integer NOT NULL,
    photos_to character varying,
    outcome json NOT NULL,
    problem character varying(300),
    leased_until bigint,
    created_at bigint NOT NULL,
    finished_at bigint,
    undone_at bigint,
    CONSTRAINT pk_table_import PRIMARY KEY (id),
    CONSTRAINT fk_table_import_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_table_import_project_id_created_at ON table_import USING btree (project_id, created_at);

CREATE INDEX ix_table_import_state ON table_import USING btree (state);

CREATE TABLE waiting_archive (
    account_id character varying NOT NULL,
    file_name character varying(255) NOT NULL,
    content bytea NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_waiting_archive PRIMARY KEY (account_id),
    CONSTRAINT fk_waiting_archive_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE TABLE testimonial_count (
    project_id character varying NOT NULL,
    status character varying NOT NULL,
    is_deleted boolean NOT NULL,
    kind character varying(10) NOT NULL,
    source character varying NOT NULL,
    form_name character varying(60) NOT NULL,
    halves integer NOT NULL,
    has_photo boolean NOT NULL,
    part bigint NOT NULL,
    number bigint NOT NULL,
    rating_sum bigint NOT NULL,
    CONSTRAINT pk_testimonial_count PRIMARY KEY (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, part)
);

CREATE TABLE tag_count (
    project_id character varying NOT NULL,
    name character varying(40) NOT NULL,
    part bigint NOT NULL,
    number bigint NOT NULL,
    kept bigint NOT NULL,
    visible bigint NOT NULL,
    CONSTRAINT pk_tag_count PRIMARY KEY (project_id, name, part)
);

CREATE TABLE insight_day (
    project_id character varying NOT NULL,
    day character varying(10) NOT NULL,
    surface character varying(10) NOT NULL,
    website character varying(260) NOT NULL,
    views integer NOT NULL,
    clicks integer NOT NULL,
    last_seen_at bigint NOT NULL,
    CONSTRAINT pk_insight_day PRIMARY KEY (project_id, day, surface, website),
    CONSTRAINT fk_insight_day_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_insight_day_day ON insight_day USING btree (day);

CREATE TABLE insight_testimonial_day (
    project_id character varying NOT NULL,
    day character varying(10) NOT NULL,
    testimonial_id character varying NOT NULL,
    seen integer NOT NULL,
    read integer NOT NULL,
    CONSTRAINT pk_insight_testimonial_day PRIMARY KEY (project_id, day, testimonial_id),
    CONSTRAINT fk_insight_testimonial_day_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE,
    CONSTRAINT fk_insight_testimonial_day_testimonial_id_testimonial FOREIGN KEY (testimonial_id) REFERENCES testimonial(id) ON DELETE CASCADE
);

CREATE INDEX ix_insight_testimonial_day_day ON insight_testimonial_day USING btree (day);

CREATE INDEX ix_insight_testimonial_day_testimonial_id ON insight_testimonial_day USING btree (testimonial_id);

CREATE TABLE insight_funnel_day (
    project_id character varying NOT NULL,
    day character varying(10) NOT NULL,
    form character varying(60) NOT NULL,
    opened integer NOT NULL,
    started integer NOT NULL,
    CONSTRAINT pk_insight_funnel_day PRIMARY KEY (project_id, day, form),
    CONSTRAINT fk_insight_funnel_day_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_insight_funnel_day_day ON insight_funnel_day USING btree (day);

CREATE TABLE day_count (
    project_id character varying NOT NULL,
    day integer NOT NULL,
    part bigint NOT NULL,
    sent bigint NOT NULL,
    approved bigint NOT NULL,
    stars_1 bigint NOT NULL,
    stars_2 bigint NOT NULL,
    stars_3 bigint NOT NULL,
    stars_4 bigint NOT NULL,
    stars_5 bigint NOT NULL,
    rating_sum bigint NOT NULL,
    CONSTRAINT pk_day_count PRIMARY KEY (project_id, day, part)
);

CREATE TABLE answer_count (
    project_id character varying NOT NULL,
    question_id character varying NOT NULL,
    part bigint NOT NULL,
    number bigint NOT NULL,
    CONSTRAINT pk_answer_count PRIMARY KEY (project_id, question_id, part)
);

CREATE TABLE passkey (
    id character varying NOT NULL,
    account_id character varying NOT NULL,
    credential_id character varying(1400) NOT NULL,
    public_key bytea NOT NULL,
    sign_count bigint NOT NULL,
    is_synced boolean NOT NULL,
    name character varying(60) NOT NULL,
    challenged_at bigint NOT NULL,
    added_at bigint NOT NULL,
    used_at bigint,
    CONSTRAINT pk_passkey PRIMARY KEY (id),
    CONSTRAINT uq_passkey_credential_id UNIQUE (credential_id),
    CONSTRAINT fk_passkey_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE INDEX ix_passkey_account_id ON passkey USING btree (account_id);

CREATE TABLE authenticator_app (
    account_id character varying NOT NULL,
    secret character varying(64) NOT NULL,
    last_step bigint NOT NULL,
    added_at bigint NOT NULL,
    codes_made_at bigint NOT NULL,
    CONSTRAINT pk_authenticator_app PRIMARY KEY (account_id),
    CONSTRAINT fk_authenticator_app_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE TABLE recovery_code (
    account_id character varying NOT NULL,
    code_hash character varying NOT NULL,
    CONSTRAINT pk_recovery_code PRIMARY KEY (account_id, code_hash),
    CONSTRAINT fk_recovery_code_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE TABLE company_identity (
    id character varying NOT NULL,
    account_id character varying NOT NULL,
    issuer character varying(500) NOT NULL,
    subject character varying(255) NOT NULL,
    email character varying(254),
    linked_at bigint NOT NULL,
    used_at bigint NOT NULL,
    CONSTRAINT pk_company_identity PRIMARY KEY (id),
    CONSTRAINT uq_company_identity_account UNIQUE (account_id, issuer),
    CONSTRAINT uq_company_identity_subject UNIQUE (issuer, subject),
    CONSTRAINT fk_company_identity_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE TABLE company_attempt (
    id character varying NOT NULL,
    browser_hash character varying NOT NULL,
    purpose character varying(10) NOT NULL,
    account_id character varying,
    verifier character varying(128) NOT NULL,
    nonce character varying(64) NOT NULL,
    target text NOT NULL,
    draft text NOT NULL,
    started_at bigint NOT NULL,
    CONSTRAINT pk_company_attempt PRIMARY KEY (id)
);

CREATE INDEX ix_company_attempt_started_at ON company_attempt USING btree (started_at);

CREATE TABLE workspace_member (
    owner_id character varying NOT NULL,
    account_id character varying NOT NULL,
    role character varying(20) NOT NULL,
    source character varying(20) NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_workspace_member PRIMARY KEY (owner_id, account_id),
    CONSTRAINT fk_workspace_member_account_id_account FOREIGN KEY (account_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT fk_workspace_member_owner_id_account FOREIGN KEY (owner_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE INDEX ix_workspace_member_account_id ON workspace_member USING btree (account_id);

CREATE TABLE workspace_invitation (
    owner_id character varying NOT NULL,
    email character varying(254) NOT NULL,
    role character varying(20) NOT NULL,
    project_ids json,
    nonce_hash character varying NOT NULL,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_workspace_invitation PRIMARY KEY (owner_id, email),
    CONSTRAINT fk_workspace_invitation_owner_id_account FOREIGN KEY (owner_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE INDEX ix_workspace_invitation_expires_at ON workspace_invitation USING btree (expires_at);

CREATE TABLE ownership_offer (
    id character varying NOT NULL,
    owner_id character varying NOT NULL,
    project_id character varying,
    receiver_id character varying NOT NULL,
    keeps_team boolean NOT NULL,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_ownership_offer PRIMARY KEY (id),
    CONSTRAINT fk_ownership_offer_owner_id_account FOREIGN KEY (owner_id) REFERENCES account(id) ON DELETE CASCADE,
    CONSTRAINT fk_ownership_offer_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE,
    CONSTRAINT fk_ownership_offer_receiver_id_account FOREIGN KEY (receiver_id) REFERENCES account(id) ON DELETE CASCADE
);

CREATE INDEX ix_ownership_offer_expires_at ON ownership_offer USING btree (expires_at);

CREATE INDEX ix_ownership_offer_owner_id ON ownership_offer USING btree (owner_id);

CREATE INDEX ix_ownership_offer_project_id ON ownership_offer USING btree (project_id);

CREATE INDEX ix_ownership_offer_receiver_id ON ownership_offer USING btree (receiver_id);

CREATE TABLE abuse_report (
    id character varying NOT NULL,
    project_id character varying NOT NULL,
    testimonial_id character varying,
    page character varying(20) NOT NULL,
    reason character varying(20) NOT NULL,
    words text NOT NULL,
    created_at bigint NOT NULL,
    settled_at bigint,
    CONSTRAINT pk_abuse_report PRIMARY KEY (id),
    CONSTRAINT fk_abuse_report_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_abuse_report_project_id ON abuse_report USING btree (project_id);

CREATE INDEX ix_abuse_report_settled_at ON abuse_report USING btree (settled_at);

CREATE TABLE custom_domain (
    project_id character varying NOT NULL,
    host character varying(253) NOT NULL,
    token character varying(60) NOT NULL,
    is_held boolean,
    verified_at bigint,
    missing_since bigint,
    serving_since bigint,
    checked_at bigint,
    next_check_at bigint NOT NULL,
    points_to json DEFAULT '[]'::json NOT NULL,
    problem character varying(300) DEFAULT ''::character varying NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT pk_custom_domain PRIMARY KEY (project_id),
    CONSTRAINT uq_custom_domain_host_is_held UNIQUE (host, is_held),
    CONSTRAINT fk_custom_domain_project_id_project FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

CREATE INDEX ix_custom_domain_next_check_at ON custom_domain USING btree (next_check_at);

CREATE TABLE stored_backup (
    name character varying(80) NOT NULL,
    size bigint NOT NULL,
    place character varying NOT NULL,
    made_at bigint NOT NULL,
    CONSTRAINT pk_stored_backup PRIMARY KEY (name)
);

CREATE TABLE erased (
    kind character varying(20) NOT NULL,
    id character varying(100) NOT NULL,
    erased_at bigint NOT NULL,
    CONSTRAINT pk_erased PRIMARY KEY (kind, id)
);

CREATE INDEX ix_erased_erased_at ON erased USING btree (erased_at);

CREATE FUNCTION count_answers() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN IF current_setting('testimonials.counting', true) = 'off' THEN RETURN NULL; END IF;  IF TG_OP = 'INSERT' THEN INSERT INTO answer_count (project_id, question_id, part, number) SELECT project_id, question, nextval('count_part'), n FROM (SELECT it.project_id, each.value ->> 'id' AS question, 1 * count(DISTINCT it.id) AS n FROM added it, json_array_elements(CASE WHEN json_typeof(it.answers) = 'array' THEN it.answers END) AS each (value) GROUP BY it.project_id, question) AS sums WHERE n <> 0 AND question IS NOT NULL AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id); ELSE INSERT INTO answer_count (project_id, question_id, part, number) SELECT project_id, question, nextval('count_part'), n FROM (SELECT it.project_id, each.value ->> 'id' AS question, -1 * count(DISTINCT it.id) AS n FROM removed it, json_array_elements(CASE WHEN json_typeof(it.answers) = 'array' THEN it.answers END) AS each (value) GROUP BY it.project_id, question) AS sums WHERE n <> 0 AND question IS NOT NULL AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id); END IF; RETURN NULL; END $$;

CREATE FUNCTION count_changed_answers() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN IF current_setting('testimonials.counting', true) = 'off' THEN RETURN NULL; END IF; INSERT INTO answer_count (project_id, question_id, part, number) SELECT project_id, question, nextval('count_part'), n FROM ( SELECT project_id, question, sum(one) AS n FROM (SELECT DISTINCT NEW.project_id, each.value ->> 'id' AS question, 1 AS one FROM json_array_elements(CASE WHEN json_typeof(NEW.answers) = 'array' THEN NEW.answers END) AS each (value) UNION ALL SELECT DISTINCT OLD.project_id, each.value ->> 'id' AS question, -1 AS one FROM json_array_elements(CASE WHEN json_typeof(OLD.answers) = 'array' THEN OLD.answers END) AS each (value)) AS them GROUP BY project_id, question) AS sums WHERE n <> 0 AND question IS NOT NULL AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id); RETURN NULL; END $$;

CREATE FUNCTION count_days() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN IF current_setting('testimonials.counting', true) = 'off' THEN RETURN NULL; END IF; IF TG_OP = 'INSERT' THEN INSERT INTO day_count (project_id, day, part, sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum) SELECT project_id, day, nextval('day_part'), sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum FROM (SELECT project_id, day, sum(sent) AS sent, sum(approved) AS approved, sum(stars_1) AS stars_1, sum(stars_2) AS stars_2, sum(stars_3) AS stars_3, sum(stars_4) AS stars_4, sum(stars_5) AS stars_5, sum(rating_sum) AS rating_sum FROM (SELECT it.project_id, CAST(it.submitted_at / 86400000 AS INTEGER), CASE WHEN it.source = 'public_page' AND it.status <> 'spam' THEN 1 ELSE 0 END, CASE WHEN it.source = 'public_page' AND it.status = 'approved' AND it.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating < 1.5 THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 1.5 AND it.rating < 2.5 THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 2.5 AND it.rating < 3.5 THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 3.5 AND it.rating < 4.5 THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 4.5 THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL THEN 1 * CAST(round(it.rating * 1000000000) AS BIGINT) ELSE 0 END FROM added it WHERE (it.source = 'public_page' OR (it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL))) AS them (project_id, day, sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum) GROUP BY project_id, day) AS sums WHERE (sent <> 0 OR approved <> 0 OR stars_1 <> 0 OR stars_2 <> 0 OR stars_3 <> 0 OR stars_4 <> 0 OR stars_5 <> 0 OR rating_sum <> 0) AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id); ELSIF TG_OP = 'DELETE' THEN INSERT INTO day_count (project_id, day, part, sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum) SELECT project_id, day, nextval('day_part'), sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum FROM (SELECT project_id, day, sum(sent) AS sent, sum(approved) AS approved, sum(stars_1) AS stars_1, sum(stars_2) AS stars_2, sum(stars_3) AS stars_3, sum(stars_4) AS stars_4, sum(stars_5) AS stars_5, sum(rating_sum) AS rating_sum FROM (SELECT it.project_id, CAST(it.submitted_at / 86400000 AS INTEGER), CASE WHEN it.source = 'public_page' AND it.status <> 'spam' THEN -1 ELSE 0 END, CASE WHEN it.source = 'public_page' AND it.status = 'approved' AND it.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating < 1.5 THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 1.5 AND it.rating < 2.5 THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 2.5 AND it.rating < 3.5 THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 3.5 AND it.rating < 4.5 THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 4.5 THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL THEN -1 * CAST(round(it.rating * 1000000000) AS BIGINT) ELSE 0 END FROM removed it WHERE (it.source = 'public_page' OR (it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL))) AS them (project_id, day, sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum) GROUP BY project_id, day) AS sums WHERE (sent <> 0 OR approved <> 0 OR stars_1 <> 0 OR stars_2 <> 0 OR stars_3 <> 0 OR stars_4 <> 0 OR stars_5 <> 0 OR rating_sum <> 0) AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id); ELSE INSERT INTO day_count (project_id, day, part, sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum) SELECT project_id, day, nextval('day_part'), sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum FROM (SELECT project_id, day, sum(sent) AS sent, sum(approved) AS approved, sum(stars_1) AS stars_1, sum(stars_2) AS stars_2, sum(stars_3) AS stars_3, sum(stars_4) AS stars_4, sum(stars_5) AS stars_5, sum(rating_sum) AS rating_sum FROM (SELECT it.project_id, CAST(it.submitted_at / 86400000 AS INTEGER), CASE WHEN it.source = 'public_page' AND it.status <> 'spam' THEN 1 ELSE 0 END, CASE WHEN it.source = 'public_page' AND it.status = 'approved' AND it.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating < 1.5 THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 1.5 AND it.rating < 2.5 THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 2.5 AND it.rating < 3.5 THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 3.5 AND it.rating < 4.5 THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 4.5 THEN 1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL THEN 1 * CAST(round(it.rating * 1000000000) AS BIGINT) ELSE 0 END FROM added it WHERE (it.source = 'public_page' OR (it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL)) UNION ALL SELECT it.project_id, CAST(it.submitted_at / 86400000 AS INTEGER), CASE WHEN it.source = 'public_page' AND it.status <> 'spam' THEN -1 ELSE 0 END, CASE WHEN it.source = 'public_page' AND it.status = 'approved' AND it.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating < 1.5 THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 1.5 AND it.rating < 2.5 THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 2.5 AND it.rating < 3.5 THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 3.5 AND it.rating < 4.5 THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL AND it.rating >= 4.5 THEN -1 ELSE 0 END, CASE WHEN it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL THEN -1 * CAST(round(it.rating * 1000000000) AS BIGINT) ELSE 0 END FROM removed it WHERE (it.source = 'public_page' OR (it.status = 'approved' AND it.deleted_at IS NULL AND it.source <> 'demo' AND it.rating IS NOT NULL))) AS them (project_id, day, sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum) GROUP BY project_id, day) AS sums WHERE (sent <> 0 OR approved <> 0 OR stars_1 <> 0 OR stars_2 <> 0 OR stars_3 <> 0 OR stars_4 <> 0 OR stars_5 <> 0 OR rating_sum <> 0) AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id); END IF; RETURN NULL; END $$;

CREATE FUNCTION count_tags() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN IF current_setting('testimonials.counting', true) = 'off' THEN RETURN NULL; END IF; IF TG_OP = 'INSERT' THEN INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT project_id, name, nextval('count_part'), n, k, v FROM (SELECT project_id, name, sum(number) AS n, sum(kept) AS k, sum(visible) AS v FROM (SELECT tag.project_id, tag.name, 1, CASE WHEN it.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN 1 ELSE 0 END FROM added tag JOIN testimonial it ON it.id = tag.testimonial_id) AS them (project_id, name, number, kept, visible) GROUP BY project_id, name) AS sums WHERE n <> 0 OR k <> 0 OR v <> 0; ELSIF TG_OP = 'DELETE' THEN INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT project_id, name, nextval('count_part'), n, k, v FROM (SELECT project_id, name, sum(number) AS n, sum(kept) AS k, sum(visible) AS v FROM (SELECT tag.project_id, tag.name, -1, CASE WHEN it.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN -1 ELSE 0 END FROM removed tag JOIN testimonial it ON it.id = tag.testimonial_id) AS them (project_id, name, number, kept, visible) GROUP BY project_id, name) AS sums WHERE n <> 0 OR k <> 0 OR v <> 0; ELSE INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT project_id, name, nextval('count_part'), n, k, v FROM (SELECT project_id, name, sum(number) AS n, sum(kept) AS k, sum(visible) AS v FROM (SELECT tag.project_id, tag.name, 1, CASE WHEN it.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN 1 ELSE 0 END FROM added tag JOIN testimonial it ON it.id = tag.testimonial_id UNION ALL SELECT tag.project_id, tag.name, -1, CASE WHEN it.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN -1 ELSE 0 END FROM removed tag JOIN testimonial it ON it.id = tag.testimonial_id) AS them (project_id, name, number, kept, visible) GROUP BY project_id, name) AS sums WHERE n <> 0 OR k <> 0 OR v <> 0; END IF; RETURN NULL; END $$;

CREATE FUNCTION count_tags_of_removed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN IF current_setting('testimonials.counting', true) = 'off' THEN RETURN OLD; END IF; INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT tag.project_id, tag.name, nextval('count_part'), -1, CASE WHEN OLD.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN OLD.deleted_at IS NULL AND OLD.status IN ('approved', 'demo') THEN -1 ELSE 0 END FROM testimonial_tag tag WHERE tag.testimonial_id = OLD.id AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id); RETURN OLD; END $$;

CREATE FUNCTION count_testimonials() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN IF current_setting('testimonials.counting', true) = 'off' THEN RETURN NULL; END IF; IF TG_OP = 'INSERT' THEN INSERT INTO testimonial_count (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, part, number, rating_sum) SELECT project_id, status, is_deleted, kind, source, form_name, halves, has_photo, nextval('count_part'), n, r FROM (SELECT project_id, status, is_deleted, kind, source, form_name, halves, has_photo, sum(number) AS n, sum(rating_sum) AS r FROM (SELECT it.project_id, it.status, it.deleted_at IS NOT NULL, it.kind, it.source, coalesce(it.form_name, ''), CAST(floor(coalesce(it.rating, 0) * 2) AS INTEGER), it.avatar_id IS NOT NULL OR it.author_avatar IS NOT NULL OR (it.twitter ->> 'avatarUrl') IS NOT NULL, 1, 1 * CAST(round(coalesce(it.rating, 0) * 1000000000) AS BIGINT), it.id, 1, CASE WHEN it.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN 1 ELSE 0 END FROM added it) AS them (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, number, rating_sum, id, it, kept, visible) GROUP BY project_id, status, is_deleted, kind, source, form_name, halves, has_photo) AS sums WHERE (n <> 0 OR r <> 0) AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id); ELSIF TG_OP = 'DELETE' THEN INSERT INTO testimonial_count (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, part, number, rating_sum) SELECT project_id, status, is_deleted, kind, source, form_name, halves, has_photo, nextval('count_part'), n, r FROM (SELECT project_id, status, is_deleted, kind, source, form_name, halves, has_photo, sum(number) AS n, sum(rating_sum) AS r FROM (SELECT it.project_id, it.status, it.deleted_at IS NOT NULL, it.kind, it.source, coalesce(it.form_name, ''), CAST(floor(coalesce(it.rating, 0) * 2) AS INTEGER), it.avatar_id IS NOT NULL OR it.author_avatar IS NOT NULL OR (it.twitter ->> 'avatarUrl') IS NOT NULL, -1, -1 * CAST(round(coalesce(it.rating, 0) * 1000000000) AS BIGINT), it.id, -1, CASE WHEN it.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN -1 ELSE 0 END FROM removed it) AS them (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, number, rating_sum, id, it, kept, visible) GROUP BY project_id, status, is_deleted, kind, source, form_name, halves, has_photo) AS sums WHERE (n <> 0 OR r <> 0) AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id); ELSE INSERT INTO testimonial_count (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, part, number, rating_sum) SELECT project_id, status, is_deleted, kind, source, form_name, halves, has_photo, nextval('count_part'), n, r FROM (SELECT project_id, status, is_deleted, kind, source, form_name, halves, has_photo, sum(number) AS n, sum(rating_sum) AS r FROM (SELECT it.project_id, it.status, it.deleted_at IS NOT NULL, it.kind, it.source, coalesce(it.form_name, ''), CAST(floor(coalesce(it.rating, 0) * 2) AS INTEGER), it.avatar_id IS NOT NULL OR it.author_avatar IS NOT NULL OR (it.twitter ->> 'avatarUrl') IS NOT NULL, 1, 1 * CAST(round(coalesce(it.rating, 0) * 1000000000) AS BIGINT), it.id, 1, CASE WHEN it.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN 1 ELSE 0 END FROM added it UNION ALL SELECT it.project_id, it.status, it.deleted_at IS NOT NULL, it.kind, it.source, coalesce(it.form_name, ''), CAST(floor(coalesce(it.rating, 0) * 2) AS INTEGER), it.avatar_id IS NOT NULL OR it.author_avatar IS NOT NULL OR (it.twitter ->> 'avatarUrl') IS NOT NULL, -1, -1 * CAST(round(coalesce(it.rating, 0) * 1000000000) AS BIGINT), it.id, -1, CASE WHEN it.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN -1 ELSE 0 END FROM removed it) AS them (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, number, rating_sum, id, it, kept, visible) GROUP BY project_id, status, is_deleted, kind, source, form_name, halves, has_photo) AS sums WHERE (n <> 0 OR r <> 0) AND EXISTS (SELECT 1 FROM project WHERE project.id = project_id); INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT project_id, name, nextval('count_part'), 0, k, v FROM (SELECT tag.project_id, tag.name, sum(k) AS k, sum(v) AS v FROM (SELECT id, sum(kept) AS k, sum(visible) AS v FROM (SELECT it.project_id, it.status, it.deleted_at IS NOT NULL, it.kind, it.source, coalesce(it.form_name, ''), CAST(floor(coalesce(it.rating, 0) * 2) AS INTEGER), it.avatar_id IS NOT NULL OR it.author_avatar IS NOT NULL OR (it.twitter ->> 'avatarUrl') IS NOT NULL, 1, 1 * CAST(round(coalesce(it.rating, 0) * 1000000000) AS BIGINT), it.id, 1, CASE WHEN it.deleted_at IS NULL THEN 1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN 1 ELSE 0 END FROM added it UNION ALL SELECT it.project_id, it.status, it.deleted_at IS NOT NULL, it.kind, it.source, coalesce(it.form_name, ''), CAST(floor(coalesce(it.rating, 0) * 2) AS INTEGER), it.avatar_id IS NOT NULL OR it.author_avatar IS NOT NULL OR (it.twitter ->> 'avatarUrl') IS NOT NULL, -1, -1 * CAST(round(coalesce(it.rating, 0) * 1000000000) AS BIGINT), it.id, -1, CASE WHEN it.deleted_at IS NULL THEN -1 ELSE 0 END, CASE WHEN it.deleted_at IS NULL AND it.status IN ('approved', 'demo') THEN -1 ELSE 0 END FROM removed it) AS them (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, number, rating_sum, id, it, kept, visible) GROUP BY id) AS changed JOIN testimonial_tag tag ON tag.testimonial_id = changed.id WHERE k <> 0 OR v <> 0 GROUP BY tag.project_id, tag.name) AS sums WHERE k <> 0 OR v <> 0; END IF; RETURN NULL; END $$;

CREATE FUNCTION forget_answers() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN DELETE FROM answer_count WHERE project_id = OLD.id; RETURN NULL; END $$;

CREATE FUNCTION forget_counts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN DELETE FROM testimonial_count WHERE project_id = OLD.id; DELETE FROM tag_count WHERE project_id = OLD.id; RETURN NULL; END $$;

CREATE FUNCTION forget_days() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN DELETE FROM day_count WHERE project_id = OLD.id; RETURN NULL; END $$;

CREATE FUNCTION put_together_answer_count() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN IF pg_try_advisory_xact_lock(7263540, hashtext('answer_count' || NEW.project_id)) THEN WITH gone AS (DELETE FROM answer_count WHERE project_id = NEW.project_id RETURNING *) INSERT INTO answer_count (project_id, question_id, part, number) SELECT project_id, question_id, -nextval('count_part'), sum(number) FROM gone GROUP BY project_id, question_id HAVING sum(number) <> 0; END IF; RETURN NULL; END $$;

CREATE FUNCTION put_together_days() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN IF pg_try_advisory_xact_lock(7263540, hashtext('day_count' || NEW.project_id)) THEN WITH gone AS (DELETE FROM day_count WHERE project_id = NEW.project_id AND day IN (SELECT day FROM day_count WHERE project_id = NEW.project_id GROUP BY day HAVING count(*) > 1) RETURNING *), summed AS (SELECT project_id, day, sum(sent) AS sent, sum(approved) AS approved, sum(stars_1) AS stars_1, sum(stars_2) AS stars_2, sum(stars_3) AS stars_3, sum(stars_4) AS stars_4, sum(stars_5) AS stars_5, sum(rating_sum) AS rating_sum FROM gone GROUP BY project_id, day HAVING sum(sent) <> 0 OR sum(approved) <> 0 OR sum(stars_1) <> 0 OR sum(stars_2) <> 0 OR sum(stars_3) <> 0 OR sum(stars_4) <> 0 OR sum(stars_5) <> 0 OR sum(rating_sum) <> 0) INSERT INTO day_count (project_id, day, part, sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum) SELECT project_id, day, -nextval('day_part'), sent, approved, stars_1, stars_2, stars_3, stars_4, stars_5, rating_sum FROM summed; END IF; RETURN NULL; END $$;

CREATE FUNCTION put_together_tag_count() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN IF pg_try_advisory_xact_lock(7263540, hashtext('tag_count' || NEW.project_id)) THEN WITH gone AS (DELETE FROM tag_count WHERE project_id = NEW.project_id RETURNING *), summed AS (SELECT project_id, name, sum(number) AS number, sum(kept) AS kept, sum(visible) AS visible FROM gone GROUP BY project_id, name HAVING sum(number) <> 0 OR sum(kept) <> 0 OR sum(visible) <> 0) INSERT INTO tag_count (project_id, name, part, number, kept, visible) SELECT project_id, name, -nextval('count_part'), number, kept, visible FROM summed; END IF; RETURN NULL; END $$;

CREATE FUNCTION put_together_testimonial_count() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN IF pg_try_advisory_xact_lock(7263540, hashtext('testimonial_count' || NEW.project_id)) THEN WITH gone AS (DELETE FROM testimonial_count WHERE project_id = NEW.project_id RETURNING *), summed AS (SELECT project_id, status, is_deleted, kind, source, form_name, halves, has_photo, sum(number) AS number, sum(rating_sum) AS rating_sum FROM gone GROUP BY project_id, status, is_deleted, kind, source, form_name, halves, has_photo HAVING sum(number) <> 0 OR sum(rating_sum) <> 0) INSERT INTO testimonial_count (project_id, status, is_deleted, kind, source, form_name, halves, has_photo, part, number, rating_sum) SELECT project_id, status, is_deleted, kind, source, form_name, halves, has_photo, -nextval('count_part'), number, rating_sum FROM summed; END IF; RETURN NULL; END $$;

CREATE FUNCTION tell_project_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_TABLE_NAME = 'account' THEN
        PERFORM pg_notify('testimonials_versions', '');
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM pg_notify('testimonials_versions', '-' || OLD.id);
    ELSIF NEW.deleted_at IS NOT NULL THEN
        PERFORM pg_notify('testimonials_versions', '-' || NEW.id);
    ELSE
        PERFORM pg_notify('testimonials_versions', NEW.id);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION testimonial_search_text(words text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$ SELECT translate(regexp_replace(regexp_replace(normalize(words, NFD), '[̀-ͯ]', '', 'g'), '([฀-໿က-႟ក-៿぀-ヿ㐀-䶿一-鿿𠀀-𱍏])', ' \1 ', 'g'), E'.,:;!?/@-_+*#&=()[]{}<>|~^%$\\"`’''', repeat(' ', 33)) $_$;

CREATE FUNCTION testimonial_search_words(project_id text, author_name text, author_role text, author_company text, author_email text, text text, answers json) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$ SELECT to_tsvector('simple', project_id || ' ' || translate(regexp_replace(regexp_replace(normalize(coalesce(author_name, '') || ' ' || coalesce(author_role, '') || ' ' || coalesce(author_company, '') || ' ' || coalesce(author_email, '') || ' ' || coalesce(text, '') || ' ' || coalesce(jsonb_path_query_array(CAST(answers AS jsonb), '$[*].answer')::text, ''), NFD), '[̀-ͯ]', '', 'g'), '([฀-໿က-႟ក-៿぀-ヿ㐀-䶿一-鿿𠀀-𱍏])', ' \1 ', 'g'), E'.,:;!?/@-_+*#&=()[]{}<>|~^%$\\"`’''', repeat(' ', 33))) $_$;

CREATE INDEX testimonial_search ON testimonial USING gin (testimonial_search_words((project_id)::text, (author_name)::text, (author_role)::text, (author_company)::text, (author_email)::text, text, answers));

CREATE TRIGGER count_answers_delete AFTER DELETE ON testimonial REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_answers();

CREATE TRIGGER count_answers_insert AFTER INSERT ON testimonial REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_answers();

CREATE TRIGGER count_answers_update AFTER UPDATE OF answers, project_id ON testimonial FOR EACH ROW WHEN ((((old.answers)::text IS DISTINCT FROM (new.answers)::text) OR ((old.project_id)::text <> (new.project_id)::text))) EXECUTE FUNCTION count_changed_answers();

CREATE TRIGGER count_days_delete AFTER DELETE ON testimonial REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_days();

CREATE TRIGGER count_days_insert AFTER INSERT ON testimonial REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_days();

CREATE TRIGGER count_days_update AFTER UPDATE ON testimonial REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_days();

CREATE TRIGGER count_delete AFTER DELETE ON testimonial REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_testimonials();

CREATE TRIGGER count_delete AFTER DELETE ON testimonial_tag REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_tags();

CREATE TRIGGER count_insert AFTER INSERT ON testimonial REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_testimonials();

CREATE TRIGGER count_insert AFTER INSERT ON testimonial_tag REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_tags();

CREATE TRIGGER count_tags_of_removed BEFORE DELETE ON testimonial FOR EACH ROW EXECUTE FUNCTION count_tags_of_removed();

CREATE TRIGGER count_update AFTER UPDATE ON testimonial REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_testimonials();

CREATE TRIGGER count_update AFTER UPDATE ON testimonial_tag REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_tags();

CREATE TRIGGER forget_answers AFTER DELETE ON project FOR EACH ROW EXECUTE FUNCTION forget_answers();

CREATE TRIGGER forget_counts AFTER DELETE ON project FOR EACH ROW EXECUTE FUNCTION forget_counts();

CREATE TRIGGER forget_days AFTER DELETE ON project FOR EACH ROW EXECUTE FUNCTION forget_days();

CREATE TRIGGER put_together AFTER INSERT ON answer_count FOR EACH ROW WHEN (((new.part > 0) AND ((new.part % (64)::bigint) = 0))) EXECUTE FUNCTION put_together_answer_count();

CREATE TRIGGER put_together AFTER INSERT ON day_count FOR EACH ROW WHEN (((new.part > 0) AND ((new.part % (64)::bigint) = 0))) EXECUTE FUNCTION put_together_days();

CREATE TRIGGER put_together AFTER INSERT ON tag_count FOR EACH ROW WHEN (((new.part > 0) AND ((new.part % (64)::bigint) = 0))) EXECUTE FUNCTION put_together_tag_count();

CREATE TRIGGER put_together AFTER INSERT ON testimonial_count FOR EACH ROW WHEN (((new.part > 0) AND ((new.part % (64)::bigint) = 0))) EXECUTE FUNCTION put_together_testimonial_count();

CREATE TRIGGER tell_account_changed AFTER UPDATE ON account FOR EACH ROW WHEN (((old.claimed_at IS DISTINCT FROM new.claimed_at) OR (old.claim_expires_at IS DISTINCT FROM new.claim_expires_at))) EXECUTE FUNCTION tell_project_changed();

CREATE TRIGGER tell_project_changed AFTER UPDATE ON project FOR EACH ROW WHEN (((old.feed_version <> new.feed_version) OR (old.deleted_at IS DISTINCT FROM new.deleted_at))) EXECUTE FUNCTION tell_project_changed();

CREATE TRIGGER tell_project_removed AFTER DELETE ON project FOR EACH ROW EXECUTE FUNCTION tell_project_changed()
