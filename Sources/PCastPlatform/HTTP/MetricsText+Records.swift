extension MetricsText {
    mutating func add(_ counts: DatabaseWriteQueue.Counts) {
        add("pcast_records_waiting", .gauge, "Changes that wait to be written to the records.", counts.waiting)
        add("pcast_record_failures_total", .counter, "Attempts to write records that failed.", counts.failures)
        add("pcast_records_dropped_total", .counter, "Changes that were never written.", counts.dropped)
    }

    mutating func add(_ counts: WebhookDispatcher.Counts) {
        add("pcast_notifications_delivered_total", .counter, "Notifications that were taken.", counts.delivered)
        add("pcast_notification_failures_total", .counter, "Attempts to notify that failed.", counts.failedAttempts)
        add("pcast_webhooks_failed_total", .counter, "Notifications kept aside after the last try.", counts.failed)
    }
}
