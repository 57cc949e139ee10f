import Foundation
import PCastCore
import PCastWeb

extension PlatformAdministration {
    /// A stream key.
    struct StreamKey: Decodable, Equatable {
        let name: String
        /// The key that the encoder sends; nil in lists.
        let streamKey: String?
        let tags: [String]
        let capabilities: [String]
        /// Nil if there are none.
        let limits: StreamKeyLimits?
    }

    /// The limits of the streams of a key; nil for none.
    struct StreamKeyLimits: Codable, Equatable {
        /// Bits per second.
        var bitrate: Int64?
        var width: Int?
        var height: Int?
        /// The number of publishers at the same time.
        var connections: Int?
    }

    private struct KeyList: Decodable { let keys: [StreamKey] }
    private struct OneKey: Decodable { let key: StreamKey }

    private struct KeyRequest: Encodable {
        let tags: [String]
        let capabilities: [String]
        let limits: StreamKeyLimits
    }

    /// Returns the stream keys without their secrets, ordered by name.
    ///
    /// - Throws: ``CommandFailure``.
    func keys() async throws -> [StreamKey] {
        let answer = try await request("GET", "/pcast/keys", body: nil)
        guard answer.status == 200, let list = try? JSONDecoder().decode(KeyList.self, from: Data(answer.body)) else {
            throw failure(answer)
        }
        return list.keys
    }

    /// Creates a stream key, or changes the tags and capabilities of an existing one.
    ///
    /// - Throws: ``CommandFailure``.
    func setKey(
        _ name: String, tags: [String], capabilities: [String], limits: StreamKeyLimits = StreamKeyLimits()
    ) async throws -> StreamKey {
        let body = try JSONEncoder().encode(KeyRequest(tags: tags, capabilities: capabilities, limits: limits))
        return try await key("PUT", name, "", body: Array(body))
    }

    /// Returns a stream key.
    ///
    /// - Throws: ``CommandFailure``, whose status is `nothingToPlay` if there is none with that name.
    func key(_ name: String) async throws -> StreamKey { try await key("GET", name, "", body: nil) }

    /// Replaces the secret of a stream key.
    ///
    /// - Throws: ``CommandFailure``, whose status is `nothingToPlay` if there is none with that name.
    func rotateKey(_ name: String) async throws -> StreamKey { try await key("POST", name, "/rotation", body: []) }

    /// Revokes a stream key.
    ///
    /// - Throws: ``CommandFailure``, whose status is `nothingToPlay` if there is none with that name.
    func revokeKey(_ name: String) async throws {
        let answer = try await request("DELETE", Self.path(name), body: nil)
        guard answer.status == 200 else { throw failure(answer, of: name) }
    }

    private func key(_ method: String, _ name: String, _ suffix: String, body: [UInt8]?) async throws -> StreamKey {
        let answer = try await request(method, Self.path(name) + suffix, body: body)
        guard answer.status == 200, let one = try? JSONDecoder().decode(OneKey.self, from: Data(answer.body)) else {
            throw failure(answer, of: name)
        }
        return one.key
    }

    private static func path(_ name: String) -> String {
        let escaped = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["-", "_"])) ?? ""
        return "/pcast/key/\(escaped)"
    }

    private func failure(_ answer: HTTPResult, of name: String) -> CommandFailure {
        switch answer.status {
        case 404:
            CommandFailure(
                .nothingToPlay, "The platform has no stream key “\(name)”: “pcast key list” prints its keys.")
        case 400:
            CommandFailure(
                .unusableArguments,
                "The platform rejects the stream key “\(name)”: use 1 to 64 letters, digits, dashes and underscores, "
                    + "and fewer tags and capabilities.")
        default: failure(answer)
        }
    }
}
