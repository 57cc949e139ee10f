import Crypto
package import Foundation

/// The conversion of records to bytes and back. The bytes are a code of HMAC-SHA256 with the secret of the cluster, and
/// JSON. Bytes whose code is wrong are not parsed.
package struct ClusterRecordCoding: Sendable {
    /// The maximum number of bytes of a record.
    package static let maximumSize = 16_384
    /// The minimum number of characters of a secret.
    package static let minimumSecretLength = 16
    /// The highest number of an epoch that is accepted, so that a higher one always exists.
    private static let maximumEpoch = UInt64(1) << 62
    /// The highest count that is accepted, so that sums do not overflow.
    private static let maximumCount = 1_000_000_000
    private static let codeSize = 32

    /// The JSON object, which has one of these members. A later version may have others, which are ignored.
    private struct Envelope: Codable {
        var stream: ClusterStream?
        var standby: ClusterStream?
        var node: ClusterNode?
        var drain: DrainRequest?
        var revocation: TokenRevocation?
        var value: ClusterValue?
        var notification: ClusterNotification?
    }

    private let secret: SymmetricKey
    /// The key that encrypts contents.
    private let contentKey: SymmetricKey

    /// Creates the coding of a cluster with a secret.
    package init(secret: String) {
        self.secret = SymmetricKey(data: Data(secret.utf8))
        contentKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: self.secret, info: Data("pcast cluster content".utf8), outputByteCount: 32)
    }

    /// Returns the bytes of a record; nil if it is too large or has invalid values.
    package func encode(_ record: ClusterRecord) -> Data? {
        guard Self.isValid(record), let record = encrypted(record) else { return nil }
        let envelope =
            switch record {
            case .stream(let stream): Envelope(stream: stream)
            case .standby(let stream): Envelope(standby: stream)
            case .node(let node): Envelope(node: node)
            case .drain(let request): Envelope(drain: request)
            case .revocation(let revocation): Envelope(revocation: revocation)
            case .value(let value): Envelope(value: value)
            case .notification(let notification): Envelope(notification: notification)
            }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let text = try? encoder.encode(envelope), text.count + Self.codeSize <= Self.maximumSize else {
            return nil
        }
        return Data(code(of: text, record.key)) + text
    }

    /// Parses the bytes of a value under a key; nil if their code is wrong, or if they are invalid.
    package func decode(_ bytes: Data, _ key: ClusterKey) -> ClusterRecord? {
        guard bytes.count > Self.codeSize, bytes.count <= Self.maximumSize else { return nil }
        let text = Data(bytes.dropFirst(Self.codeSize))
        let isSigned = HMAC<SHA256>.isValidAuthenticationCode(
            bytes.prefix(Self.codeSize), authenticating: Self.signed(text, key), using: secret)
        guard isSigned, let envelope = try? JSONDecoder().decode(Envelope.self, from: text) else { return nil }
        let record: ClusterRecord? =
            envelope.stream.map(ClusterRecord.stream) ?? envelope.standby.map(ClusterRecord.standby)
            ?? envelope.node.map(ClusterRecord.node) ?? envelope.drain.map(ClusterRecord.drain)
            ?? envelope.revocation.map(ClusterRecord.revocation) ?? envelope.value.map(ClusterRecord.value)
            ?? envelope.notification.map(ClusterRecord.notification)
        guard let record, record.key == key, let record = decrypted(record), Self.isValid(record) else { return nil }
        return record
    }

    private func code(of text: Data, _ key: ClusterKey) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Self.signed(text, key), using: secret)
    }

    /// The key is signed too, so that a value is not valid under another one.
    private static func signed(_ text: Data, _ key: ClusterKey) -> Data { Data("\(key.text) ".utf8) + text }

    /// Whether the numbers of a record are in ranges in which no calculation overflows.
    private static func isValid(_ record: ClusterRecord) -> Bool {
        switch record {
        case .stream(let stream), .standby(let stream):
            return stream.epoch.number <= maximumEpoch && !stream.name.isEmpty && !stream.node.isEmpty
        case .node(let node):
            let counts = [node.load.streams, node.load.viewers, node.load.capacity]
            let ports = [node.rtmpPort, node.rtmpsPort].compactMap(\.self)
            return !node.name.isEmpty && counts.allSatisfy { (0...maximumCount).contains($0) }
                && (0...1_000).contains(node.load.processor) && ports.allSatisfy { (1...65_535).contains($0) }
        case .drain(let request): return !request.node.isEmpty
        case .revocation(let revocation):
            return !revocation.token.isEmpty && (0...TokenRevocation.maximumLifetime).contains(revocation.lifetime)
        case .value(let value):
            return value.version.number <= maximumEpoch && !value.application.isEmpty && !value.name.isEmpty
                && (value.content?.count ?? 0) <= ClusterValue.maximumSize
        case .notification(let notification):
            return !notification.id.isEmpty && !notification.owner.isEmpty && !notification.origin.isEmpty
                && notification.content.count <= ClusterNotification.maximumSize
        }
    }

    // MARK: Contents

    /// Returns a record with its content encrypted. The key is authenticated too.
    private func encrypted(_ record: ClusterRecord) -> ClusterRecord? {
        converted(record) { content, key in
            try? AES.GCM.seal(content, using: contentKey, authenticating: Data(key.text.utf8)).combined
        }
    }

    /// Returns a record with its content decrypted; nil if it was encrypted with another secret.
    private func decrypted(_ record: ClusterRecord) -> ClusterRecord? {
        converted(record) { content, key in
            guard let box = try? AES.GCM.SealedBox(combined: content) else { return nil }
            return try? AES.GCM.open(box, using: contentKey, authenticating: Data(key.text.utf8))
        }
    }

    private func converted(_ record: ClusterRecord, _ convert: (Data, ClusterKey) -> Data?) -> ClusterRecord? {
        switch record {
        case .value(var value):
            guard let content = value.content else { return record }
            guard let converted = convert(content, record.key) else { return nil }
            value.content = converted
            return .value(value)
        case .notification(var notification):
            guard let converted = convert(notification.content, record.key) else { return nil }
            notification.content = converted
            return .notification(notification)
        case .stream, .standby, .node, .drain, .revocation: return record
        }
    }
}

extension ClusterKey {
    /// The text of the key in a key-value store: its kind, and its names in base64url (RFC 4648).
    package var text: String {
        let (kind, names) =
            switch self {
            case .stream(let name): ("stream", [name])
            case .standby(let name, let node): ("standby", [name, node])
            case .node(let name): ("node", [name])
            case .drain(let name): ("drain", [name])
            case .revocation(let name): ("revocation", [name])
            case .value(let kind, let application, let name): (kind.rawValue, [application, name])
            case .notification(let id): ("notification", [id])
            }
        return ([kind] + names.map { Self.encode($0) }).joined(separator: ".")
    }

    private static func encode(_ name: String) -> String {
        Data(name.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func decode(_ text: Substring) -> String? {
        var encoded = String(text).replacing("-", with: "+").replacing("_", with: "/")
        encoded += String(repeating: "=", count: (4 - encoded.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: encoded), let name = String(data: data, encoding: .utf8), !name.isEmpty
        else { return nil }
        return name
    }

    /// Parses the text of a key; nil if it is not the key of a record.
    package init?(text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let name = Self.decode(parts[1]) else { return nil }
        guard parts.count == 2 else {
            guard let second = Self.decode(parts[2]) else { return nil }
            if parts[0] == "standby" {
                self = .standby(name, node: second)
            } else {
                guard let kind = ClusterValue.Kind(rawValue: String(parts[0])) else { return nil }
                self = .value(kind, application: name, name: second)
            }
            return
        }
        switch parts[0] {
        case "stream": self = .stream(name)
        case "node": self = .node(name)
        case "drain": self = .drain(name)
        case "revocation": self = .revocation(name)
        case "notification": self = .notification(name)
        default: return nil
        }
    }
}
