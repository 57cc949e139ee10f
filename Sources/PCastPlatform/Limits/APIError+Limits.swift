import PCastCore

extension APIError {
    static func rateLimited(retryAfter wait: TimeSpan) -> APIError {
        APIError(.rateLimited, "Too many requests: retry later, and less often.", retryAfter: wait)
    }

    /// The platform is stopping, and another one may start at the same address.
    static let draining = APIError(
        .capacity, "The platform is shutting down for maintenance: retry soon.",
        detail: "the platform is shutting down",
        retryAfter: .seconds(5))

    static let noBitrate = APIError(
        .capacity, "The bit rate limit is reached, so no other stream is admitted: retry later.")

    static func full(_ kind: QuotaReservation.Kind, _ exceeded: UsageCounter.Exceeded) -> APIError {
        let what =
            switch kind {
            case .session: "sessions"
            case .stream: "streams"
            case .viewer, .preview: "viewers"
            case .connection: "connections"
            }
        let whose =
            switch exceeded {
            case .all: "The platform"
            case .application: "The application"
            case .address: "Your address"
            }
        return APIError(.capacity, "\(whose) has reached its limit of \(what): retry later.")
    }
}
