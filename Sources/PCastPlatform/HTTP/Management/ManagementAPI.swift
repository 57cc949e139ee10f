import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastDatabase
import PCastIO
import PCastJWT
import PCastWeb

/// The management API for applications' backends under `/pcast`: tokens, streams, stream keys, callbacks, notifications
/// and reports. `/pcast/openapi.json` describes it.
struct ManagementAPI: Sendable {
    let access: ApplicationAccess
    let authenticator: TokenAuthenticator
    let credentials: CredentialCheck
    let directory: StreamDirectory
    let sessions: SessionRegistry
    let platformRecords: PlatformRecords
    let recordings: RecordingService
    let ingest: IngestService
    let names: NamedStreamService
    let rooms: RoomService
    let histories: StreamHistoryStore
    let dashboard: DashboardAccess
    let turnCredentials: TURNCredentialProvider?
    /// The node of a cluster; nil for none.
    let cluster: ClusterService?
    /// The data that this node shares with the others of its cluster; nil for none.
    let persistence: ClusterPersistence?
    let audit: AuditLog
    let administration: PlatformAdministration
    let limiter: RequestLimiter
    let logger: Logger

    typealias Handler = @Sendable (ApplicationRequest) async throws(ApplicationFailure) -> Response

    func addRoutes(to router: Router<WebRequestContext>) {
        let group = router.group("/pcast")
        add(group, "auth", [.post: issueAuthenticationToken], needing: [.post: .administer])
        add(group, "token/revocation", [.post: revokeToken], needing: [.post: .administer])
        add(group, "stream", [.post: issueStreamToken, .delete: terminate], needing: [.post: .administer])
        add(group, "stream/:stream", [.get: inspect])
        add(group, "stream/:stream/history", [.get: history])
        add(group, "stream/archive", [.delete: deleteArchive], needing: [.delete: .administer])
        add(group, "stream/:stream/viewers", [.get: listViewers])
        add(group, "streams", [.get: list])
        add(group, "names", [.get: listNames])
        add(group, "names/events", [.get: followNames], isForPages: true)
        add(group, "name/:name", [.get: inspectName, .put: setName, .delete: removeName])
        add(group, "name/:name/:operation", [.post: operateName])
        add(group, "channel", [.put: putChannel])
        add(group, "channel/:room", [.get: inspectRoom, .delete: removeRoom])
        add(group, "channel/:room/members", [.get: listMembers])
        add(group, "channel/:room/publishers/count", [.get: countPublishers])
        add(group, "room", [.put: putRoom])
        add(group, "room/:room", [.get: inspectRoom, .delete: removeRoom])
        add(group, "room/:room/members", [.get: listMembers])
        add(group, "room/:room/member/:session", [.put: muteMember])
        add(group, "room/:room/message", [.put: sendMessage])
        add(group, "rooms", [.get: listRooms])
        add(group, "recordings", [.get: listRecordings])
        add(
            group, "recordings/:stream", [.get: inspectRecording, .delete: deleteRecording],
            needing: [.delete: .administer])
        add(group, "keys", [.get: listKeys])
        // The response to GET contains the key itself.
        add(
            group, "key/:key", [.get: inspectKey, .put: setKey, .delete: revokeKey],
            needing: [.get: .administer, .put: .administer, .delete: .administer])
        add(group, "key/:key/rotation", [.post: rotateKey], needing: [.post: .administer])
        // The address of a callback may contain a secret of the backend.
        let administration: [HTTPRequest.Method: AdministrationRole] = [
            .get: .administer, .put: .administer, .delete: .administer,
        ]
        add(
            group, "application/:application/callback",
            [.get: callbacks, .put: setCallback, .delete: removeCallback], needing: administration)
        add(
            group, "application/:application/callback/:name", [.put: setCallback, .delete: removeCallback],
            needing: administration)
        add(group, "application/:application/notifications", [.get: notifications])
        add(group, "application/:application/notifications/redelivery", [.post: redeliver])
        add(group, "application/:application/notifications/:notification/redelivery", [.post: redeliver])
        add(group, "reporting/publishing", [.put: reportPublishing], needing: [.put: .view])
        add(group, "reporting/viewing", [.put: reportViewing], needing: [.put: .view])
        addPlatformRoutes(to: group)
        addOpenRoutes(to: group)
    }

    /// Adds the requests about the platform and its applications.
    private func addPlatformRoutes(to group: RouterGroup<WebRequestContext>) {
        add(group, "platform", [.get: describePlatform])
        add(group, "drain", [.post: drain, .delete: acceptClients])
        add(group, "applications", [.get: listApplications])
        add(
            group, "application/:application", [.put: addApplication, .delete: removeApplication],
            needing: [.put: .administer, .delete: .administer])
        add(group, "application/:application/rotation", [.post: rotateApplication], needing: [.post: .administer])
        add(group, "limits", [.get: listLimits])
        add(
            group, "limit/:name", [.put: setLimit, .delete: resetLimit],
            needing: [.put: .administer, .delete: .administer])
        // The entries contain addresses and names of people.
        add(group, "audit", [.get: listChanges], needing: [.get: .administer])
    }

    /// Adds the handlers of a path. GET needs the role `view` and other methods need `operate`, unless `roles` names
    /// another one. A path for pages of other sites answers their preflights.
    private func add(
        _ group: RouterGroup<WebRequestContext>, _ path: RouterPath, _ handlers: [HTTPRequest.Method: Handler],
        needing roles: [HTTPRequest.Method: AdministrationRole] = [:], isForPages: Bool = false
    ) {
        for (method, handler) in handlers {
            let role = roles[method] ?? (method == .get ? .view : .operate)
            group.on(path, method: method) { request, context in
                do throws(ApplicationFailure) {
                    let applicationRequest = try await ApplicationRequest.read(
                        request, context, by: credentials, dashboard, authenticator)
                    return try await respond(to: applicationRequest, needing: role, handler)
                } catch {
                    if error.status == .unauthorized {
                        logger.info(
                            "request rejected",
                            metadata: ["protocol": "pcast", "error": "wrong application credentials"])
                    }
                    return error.response
                }
            }
        }
        guard isForPages else { return group.refuseOthers(path, than: Array(handlers.keys)) }
        let allowed = handlers.keys.map(\.rawValue).sorted().joined(separator: ", ") + ", HEAD, OPTIONS"
        group.on(path, method: .options) { _, _ in CrossOriginMiddleware.preflight(allow: allowed, accept: nil) }
        group.refuseOthers(path, than: Array(handlers.keys) + [.options])
    }

    /// Checks the role, and runs the handler. Requests that may change something are in the audit log.
    private func respond(
        to request: ApplicationRequest, needing role: AdministrationRole, _ handler: Handler
    ) async throws(ApplicationFailure) -> Response {
        // GET includes HEAD.
        guard !["GET", "HEAD"].contains(request.author.method) else {
            try request.check(role)
            return try await handler(request)
        }
        do throws(ApplicationFailure) {
            try request.check(role)
            let response = try await handler(request)
            persistence?.wake()
            audit.record(request, status: Int(response.status.code))
            return response
        } catch {
            audit.record(request, status: Int(error.status.code))
            throw error
        }
    }

    /// Runs a database request and converts its errors, which are not the client's fault.
    ///
    /// - Throws: ``ApplicationFailure``.
    func query<Answer>(
        _ operation: () async throws(RecordsError) -> Answer
    ) async throws(ApplicationFailure) -> Answer {
        do {
            return try await operation()
        } catch {
            logger.error("database unavailable", metadata: ["error": "\(error)"])
            throw .records
        }
    }
}

/// The requests for an application's callbacks, which receive notifications. Each callback has a name. A path without a
/// name means `default`.
extension ManagementAPI {
    private struct CallbackRequest: Decodable {
        struct Address: Decodable {
            let `protocol`: String?
            let host: String
            let port: Int?
            let method: String?
            let path: String?
            let query: String?
        }

        let callback: Address
        let signingSecret: String?
    }

    private struct CallbackDescription: Encodable {
        let name: String
        let uri: String
        let method: String

        init(_ callback: CallbackRecord) {
            name = callback.name
            uri = callback.uri
            method = callback.method.rawValue
        }
    }

    private struct CallbackList: Encodable {
        let status = "ok"
        let callbacks: [CallbackDescription]
    }

    private struct CallbackSet: Encodable {
        let status = "ok"
        let callback: CallbackDescription
        /// The secret that signs the notifications.
        let signingSecret: String
    }

    func callbacks(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try request.checkOwner()
        let all = try await query { () throws(RecordsError) in
            try await platformRecords.records.callbacks(of: request.application)
        }
        return ApplicationAnswer.json(CallbackList(callbacks: all.map { CallbackDescription($0) }))
    }

    func setCallback(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try request.checkOwner()
        let name = try Self.name(request)
        let body = try request.decoded(CallbackRequest.self)
        var secret: SigningSecret?
        if let text = body.signingSecret {
            guard let parsed = SigningSecret(text) else {
                throw .badRequest("“signingSecret” is invalid: send “whsec_” and 24 to 64 bytes in Base64.")
            }
            secret = parsed
        }
        let (uri, method, newSecret) = (try uri(body.callback), try Self.method(body.callback), secret)
        let callback = try await query { () throws(RecordsError) in
            try await platformRecords.records.setCallback(
                name, of: request.application, uri: uri, method: method, secret: newSecret)
        }
        guard let callback else {
            throw ApplicationFailure(
                .conflict, "conflict",
                "The application has \(Records.callbackLimit) webhooks, which is the maximum: delete one first.")
        }
        return ApplicationAnswer.json(
            CallbackSet(callback: CallbackDescription(callback), signingSecret: callback.secret.text))
    }

    func removeCallback(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try request.checkOwner()
        let name = try Self.name(request)
        let existed = try await query { () throws(RecordsError) in
            try await platformRecords.records.removeCallback(name, of: request.application)
        }
        guard existed else { throw .notFound }
        return ApplicationAnswer.done
    }

    private static func name(_ request: ApplicationRequest) throws(ApplicationFailure) -> String {
        guard request.has("name") else { return "default" }
        let name = try request.part("name")
        guard CallbackText.isName(name) else {
            throw .badRequest("The webhook's name is invalid: use 1 to 64 letters, digits, dashes and underscores.")
        }
        return name
    }

    private static func method(
        _ address: CallbackRequest.Address
    ) throws(ApplicationFailure) -> CallbackRecord.Method {
        guard let method = CallbackRecord.Method(rawValue: address.method ?? "POST") else {
            throw .badRequest("“method” is invalid: send POST or PUT, because a notification has a body.")
        }
        return method
    }

    /// Returns the URI of a callback. It checks the syntax, and whether an IP address is permitted. The addresses of a
    /// host name are checked whenever the name is resolved to send a notification.
    ///
    /// - Throws: ``ApplicationFailure``.
    private func uri(_ address: CallbackRequest.Address) throws(ApplicationFailure) -> String {
        let scheme = address.protocol ?? "http"
        let port = address.port ?? (scheme == "https" ? 443 : 80)
        let path = address.path ?? "/"
        let query = address.query ?? ""
        let host = address.host.contains(":") ? "[\(address.host)]" : address.host
        let text = "\(scheme)://\(host):\(port)\(path)" + (query.isEmpty ? "" : "?\(query)")
        guard ["http", "https"].contains(scheme), (1...65_535).contains(port), CallbackText.isHost(address.host),
            path.hasPrefix("/"), CallbackText.isPath(path), CallbackText.isQuery(query),
            let read = try? WebAddress(text), read.host == address.host, read.port == port
        else { throw .badRequest("The webhook's address is invalid: check protocol, host, port, path and query.") }
        if let literal = IPAddress(address.host), !platformRecords.callbacks.addresses.mayReach(literal) {
            throw ApplicationFailure(
                .forbidden, "forbidden",
                "\(literal) is not a public address: the operator can allow it with --webhook-allow.")
        }
        return text
    }
}

/// The requests that need no authentication: the URIs of the platform and the OpenAPI description.
extension ManagementAPI {
    func addOpenRoutes(to group: RouterGroup<WebRequestContext>) {
        // A client measures the round-trip time to each of these URIs, and connects to the one that the nearest
        // returns.
        group.get("endPoints") { request, context in
            let region = request.uri.queryParameters["region"].map(String.init)
            let nodes = cluster?.endPoints(region: region).map { "\($0)/pcast/endPoint" } ?? []
            guard nodes.isEmpty else { return Self.text(nodes.joined(separator: ",")) }
            return Self.text(address(request, context, "http", "/pcast/endPoint"))
        }
        group.get("endPoint") { request, context in Self.text(address(request, context, "ws", "/ws")) }
        group.get("openapi.json") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-cache"],
                body: ResponseBody(inPieces: ByteBuffer(bytes: PackageResources.openapi_json)))
        }
        group.refuseOthers("openapi.json", than: [.get])
        // Phenix's Web SDK of 2020 sends a Content-Type, so pages of other sites send a preflight first.
        for path: RouterPath in ["endPoints", "endPoint"] {
            group.on(path, method: .options) { _, _ in
                CrossOriginMiddleware.preflight(allow: "GET, HEAD, OPTIONS", accept: nil)
            }
            group.refuseOthers(path, than: [.get, .options])
        }
    }

    private static func text(_ address: String?) -> Response {
        guard let address else {
            return ApplicationFailure.badRequest("The request has no valid Host header: add it.").response
        }
        return Responses.text(.ok, address, [.cacheControl: "no-store"])
    }

    /// Returns a URI with the host of the client's request; nil if the request has no `Host` field.
    private func address(
        _ request: Request, _ context: WebRequestContext, _ scheme: String, _ path: String
    ) -> String? {
        guard let host = request.head.authority, let read = try? WebAddress("http://\(host)") else { return nil }
        let name = read.host.contains(":") ? "[\(read.host)]" : read.host
        let isSecure = turnCredentials?.isSecure(port: context.localPort) ?? false
        let isWritten = host.hasSuffix(":\(read.port)")
        return "\(scheme)\(isSecure ? "s" : "")://\(name)\(isWritten ? ":\(read.port)" : "")\(path)"
    }
}

/// The request for the statistics of a live stream in the last minutes.
extension ManagementAPI {
    private struct Sample: Encodable {
        /// The time in milliseconds since 1970 (UTC).
        let time: Int64
        let bitrate: Int64?
        let roundTrip: Int64?
        let loss: Double
        let viewers: Int
        let dataQuality: StreamDescription.Quality

        init(_ sample: StreamHistory.Sample) {
            time = sample.time.millisecondsSinceEpoch
            bitrate = sample.bitrate?.bitsPerSecond
            roundTrip = sample.roundTrip.map { Int64($0.milliseconds) }
            loss = sample.loss
            viewers = sample.viewers
            dataQuality = StreamDescription.Quality(sample.quality)
        }
    }

    private struct History: Encodable {
        let status = "ok"
        /// The time between two samples in milliseconds.
        let interval = Int64(StreamHistory.interval.milliseconds)
        let samples: [Sample]
    }

    /// Returns a sample for each stored second, oldest first.
    ///
    /// - Throws: ``ApplicationFailure``.
    func history(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let id = StreamID(try request.part("stream"))
        // The limit is the range of nanoseconds in 64 bits.
        let after = try request.number("after", 0...9_223_372_036_854, default: 0)
        guard await directory.live(id, of: request.application) != nil else { throw .notFound }
        let samples = histories.history(of: id)?.samples(after: WallTime(millisecondsSinceEpoch: after)) ?? []
        return ApplicationAnswer.json(History(samples: samples.map { Sample($0) }))
    }
}

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
        /// The stream; nil for an event of a name without a stream.
        let streamId: String?
        /// The name of a named stream; nil for an event of a stream itself.
        let name: String?
        let what: String
        let timestamp: String
        let deliveries: [DeliveryDescription]

        init(_ record: NotificationRecord) {
            id = record.id
            streamId = record.stream.description.isEmpty ? nil : record.stream.description
            name = record.name
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
        let found = try await query { () throws(RecordsError) in
            try await platformRecords.records.notifications(
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
        let count = try await query { () throws(RecordsError) in
            try await platformRecords.records.redeliver(id, of: request.application, at: MonotonicClock.wallTime())
        }
        if id != nil, count == 0 { throw .notFound }
        platformRecords.webhooks.wake()
        return ApplicationAnswer.json(Redelivery(deliveries: count))
    }
}
