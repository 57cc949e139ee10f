extension MetricsText {
    mutating func add(_ counts: DatabaseWriteQueue.Counts) {
        add(
            "pcast_records_waiting", .gauge, "Number of changes that wait to be written to the database.",
            counts.waiting)
        add("pcast_record_failures_total", .counter, "Failed attempts to write to the database.", counts.failures)
        add(
            "pcast_records_dropped_total", .counter, "Changes that were dropped without being written to the database.",
            counts.dropped)
    }

    mutating func add(_ counts: WebhookDispatcher.Counts) {
        add(
            "pcast_notifications_delivered_total", .counter, "Webhook notifications that were delivered.",
            counts.delivered)
        add(
            "pcast_notification_failures_total", .counter, "Failed attempts to deliver a webhook notification.",
            counts.failedAttempts)
        add(
            "pcast_webhooks_failed_total", .counter, "Webhook notifications that failed after the last attempt.",
            counts.failed)
    }
}
