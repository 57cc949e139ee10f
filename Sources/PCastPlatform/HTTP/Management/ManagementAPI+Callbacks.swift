import Hummingbird
import PCastCore
import PCastDatabase
import PCastIO
import PCastWeb

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
        let all = try await ask { () throws(RecordsError) in
            try await kept.records.callbacks(of: request.application)
        }
        return ApplicationAnswer.json(CallbackList(callbacks: all.map { CallbackDescription($0) }))
    }

    func setCallback(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try request.checkOwner()
        let name = try Self.name(request)
        let asked = try request.decoded(CallbackRequest.self)
        var secret: SigningSecret?
        if let text = asked.signingSecret {
            guard let given = SigningSecret(text) else {
                throw .badRequest("“signingSecret” is invalid: send “whsec_” and 24 to 64 bytes in Base64.")
            }
            secret = given
        }
        let (uri, method, given) = (try uri(asked.callback), try Self.method(asked.callback), secret)
        let callback = try await ask { () throws(RecordsError) in
            try await kept.records.setCallback(
                name, of: request.application, uri: uri, method: method, secret: given)
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
        let wasThere = try await ask { () throws(RecordsError) in
            try await kept.records.removeCallback(name, of: request.application)
        }
        guard wasThere else { throw .notFound }
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

    /// Returns the URI of a callback. Text and IP addresses are checked now. A host name is checked whenever it is
    /// resolved for a notification.
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
        if let literal = IPAddress(address.host), !kept.callbacks.addresses.mayReach(literal) {
            throw ApplicationFailure(
                .forbidden, "forbidden",
                "\(literal) is not a public address: the operator can allow it with --webhook-allow.")
        }
        return text
    }
}
