import Hummingbird
import PCastCore
import PCastIO
import PCastWeb

/// The endpoints for operators: health and metrics.
struct HealthRoutes: Sendable {
    let metrics: PlatformMetrics
    let limiter: RequestLimiter
    let attempts: CredentialCheck
    /// The token for other hosts; nil if metrics are for this host only.
    let metricsToken: String?
    let cache: MetricsCache

    func addRoutes(to router: Router<WebRequestContext>) {
        router.get("/healthz") { _, _ in
            limiter.isDraining
                ? Responses.json(.serviceUnavailable, #"{"status":"draining"}"#)
                : Responses.json(.ok, #"{"status":"ok"}"#)
        }
        router.get("/metrics") { request, context in await answer(request, context) }
    }

    private func answer(_ request: Request, _ context: WebRequestContext) async -> Response {
        do throws(APIError) {
            let clientContext = request.clientContext(context)
            try limiter.takeMetrics(from: clientContext.address, at: MonotonicClock.now())
            try authorize(request, clientContext)
        } catch {
            return Responses.refusal(error)
        }
        let text = await cache.text { await metrics.sample().text }
        return Responses.text(.ok, text, [.contentType: "text/plain; version=0.0.4; charset=utf-8"])
    }

    /// Checks the access to metrics, because they contain the names of applications and streams. Clients of this host
    /// and those with the token may read them. The token may also be the password of HTTP Basic, which many scrapers
    /// support.
    private func authorize(_ request: Request, _ clientContext: ClientContext) throws(APIError) {
        if clientContext.isOnThisMachine { return }
        guard let metricsToken else {
            throw APIError(
                .unauthorized,
                "Metrics are available to this host only: the operator can allow others with --metrics-token."
            )
        }
        let basic = request.headers[.authorization].flatMap { ApplicationRequest.basic($0)?.secret }
        guard let given = basic ?? request.bearer else {
            throw APIError(
                .unauthorized, "Metrics require the token of --metrics-token: send it as “Authorization: Bearer …”.")
        }
        try attempts.check(from: clientContext.address) { CredentialCheck.isSame(given, metricsToken) }
    }
}

/// A cache of the text of `/metrics`, so that frequent requests do not load the media threads.
actor MetricsCache {
    private let lifetime: TimeSpan
    private var last: (text: String, made: Instant)?
    private var making: Task<String, Never>?

    init(lifetime: TimeSpan) { self.lifetime = lifetime }

    /// Returns the cached text, or calls `make` if it is too old.
    func text(_ make: @escaping @Sendable () async -> String) async -> String {
        if let last, MonotonicClock.now() - last.made < lifetime { return last.text }
        // Concurrent requests receive the same text.
        if lifetime > .zero, let making { return await making.value }
        let task = Task { await make() }
        making = task
        let value = await task.value
        last = (value, MonotonicClock.now())
        if making == task { making = nil }
        return value
    }
}
