"""All tables: whoever compares a database with them loads these first."""

import testimonials.access.models
import testimonials.activity.models
import testimonials.agents.models
import testimonials.auth.company.models
import testimonials.auth.proofs.models
import testimonials.collection.abuse_reports
import testimonials.collection.models
import testimonials.core.data.erased
import testimonials.core.data.idempotency
import testimonials.core.data.leases
import testimonials.core.data.rate_limit_counters
import testimonials.core.mail.outbox
import testimonials.core.pictures.images
import testimonials.domains.models
import testimonials.insights.models
import testimonials.operations.backup.models
import testimonials.operations.database.shared_secret
import testimonials.proposals.models
import testimonials.testimonials.counts.models
import testimonials.testimonials.models
import testimonials.transfer.models
import testimonials.webhooks.models
import testimonials.widget.models  # noqa: F401
