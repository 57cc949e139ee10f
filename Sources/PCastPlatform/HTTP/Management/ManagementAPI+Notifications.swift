import Hummingbird
import PCastCore
import PCastDatabase
import PCastIO

/// The requests for an application's notifications and their deliveries.
extension ManagementAPI {
    private struct DeliveryDescription: Encodable {
        let callback: String
        let state: String
        let attempts: Int
        /// The time in milliseconds since 1970 (UTC); nil unless the delivery is pending.
        let nextAttempt: Int64?
        let answer: String?
    }

    private struct NotificationDescription: Encodable {
        let id: String
        let streamId: String
        let what: String
        let timestamp: String
        let deliveries: [DeliveryDescription]

        init(_ record: NotificationRecord) {
            id = record.id
            streamId = record.stream.description
            what = record.kind.rawValue
            timestamp = Timestamp.text(record.time)
            deliveries = record.deliveries.map { delivery in
                DeliveryDescription(
                    callback: delivery.callback, state: delivery.state.rawValue, attempts: delivery.attempts,
                    nextAttempt: delivery.state == .pending ? delivery.due.millisecondsSinceEpoch : nil,
                    answer: delivery.answer)
            }
        }
    }

    private struct NotificationList: Encodable {
        let status = "ok"
        let notifications: [NotificationDescription]
    }

    private struct Redelivery: Encodable {
        let status = "ok"
        let deliveries: Int
    }

    /// Returns notifications, newest first.
    ///
    /// - Throws: ``ApplicationFailure``.
    func notifications(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try request.checkOwner()
        let state = try request.choice("state", NotificationRecord.Delivery.State.self)
        let length = Int(try request.number("length", 1...1_000, default: 100))
        let stream = request.query["streamId"].map { StreamID($0) }
        let found = try await ask { () throws(RecordsError) in
            try await kept.records.notifications(
                of: request.application, stream: stream, state: state, limit: length)
        }
        return ApplicationAnswer.json(NotificationList(notifications: found.map { NotificationDescription($0) }))
    }

    /// Schedules failed deliveries for a retry: those of one notification, or all.
    ///
    /// - Throws: ``ApplicationFailure``.
    func redeliver(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try request.checkOwner()
        let id = request.has("notification") ? try request.part("notification") : nil
        let count = try await ask { () throws(RecordsError) in
            try await kept.records.redeliver(id, of: request.application, at: MonotonicClock.wallTime())
        }
        if id != nil, count == 0 { throw .notFound }
        kept.webhooks.wake()
        return ApplicationAnswer.json(Redelivery(deliveries: count))
    }
}
