"""All tables: whoever compares a database with them loads these first."""

import testimonials.analytics.models
import testimonials.auth.models
import testimonials.collection.abuse
import testimonials.collection.models
import testimonials.core.audit
import testimonials.core.db.erasure
import testimonials.core.http.idempotency
import testimonials.core.http.rate_limits
import testimonials.core.images.uploads
import testimonials.core.jobs
import testimonials.core.mail.outbox
import testimonials.integrations.models
import testimonials.integrations.webhooks.models
import testimonials.operations.backup.creating
import testimonials.operations.database
import testimonials.projects.models
import testimonials.testimonials.models
import testimonials.transfer.models
import testimonials.widget.models  # noqa: F401
