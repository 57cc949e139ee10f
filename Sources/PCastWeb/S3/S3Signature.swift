import Crypto
import PCastCore

/// The key with which requests to an S3-compatible object store are signed.
package struct S3Credentials: Sendable, Hashable {
    /// The access key ID, which is not secret.
    package let accessKeyID: String
    /// The secret access key.
    package let secretAccessKey: String
    /// The token of temporary credentials; nil for permanent ones.
    package let sessionToken: String?

    /// Creates credentials; nil if the ID or the secret is empty, or one of the texts could not be part of a header field.
    package init?(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
        let texts = [accessKeyID, secretAccessKey, sessionToken ?? "-"]
        guard texts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }) else { return nil }
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
    }

    /// Reads `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`; nil if one of the first two is missing.
    package init?(environment: [String: String]) {
        let token = environment["AWS_SESSION_TOKEN"] ?? ""
        self.init(
            accessKeyID: environment["AWS_ACCESS_KEY_ID"] ?? "",
            secretAccessKey: environment["AWS_SECRET_ACCESS_KEY"] ?? "", sessionToken: token.isEmpty ? nil : token)
    }

    /// Reads the profile `default` of a credentials file of AWS, or the lines before the first profile; nil if the ID or
    /// the secret is missing.
    package init?(file text: String) {
        var values: [String: String] = [:]
        var isDefault = true
        for line in text.split(whereSeparator: \.isNewline) {
            let line = Self.trimmed(line)
            if line.hasPrefix("[") {
                isDefault = line.filter { $0 != " " } == "[default]"
            } else if isDefault, !line.hasPrefix("#"), !line.hasPrefix(";"), let sign = line.firstIndex(of: "=") {
                let name = Self.trimmed(line[..<sign]).lowercased()
                values[name] = String(Self.trimmed(line[line.index(after: sign)...]))
            }
        }
        self.init(
            accessKeyID: values["aws_access_key_id"] ?? "", secretAccessKey: values["aws_secret_access_key"] ?? "",
            sessionToken: values["aws_session_token"])
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop(while: \.isWhitespace)
        let end = start.lastIndex { !$0.isWhitespace }
        return end.map { start[...$0] } ?? ""
    }
}

extension S3Credentials: CustomStringConvertible, CustomDebugStringConvertible {
    /// The access key ID alone, so that the secret never reaches a log.
    package var description: String { "access key \(accessKeyID)" }
    /// The same as the description.
    package var debugDescription: String { description }
}

/// Signs requests to an S3-compatible object store (AWS Signature Version 4 in the `Authorization` field).
struct S3Signature {
    let credentials: S3Credentials
    let region: String

    /// A request, whose parts are encoded already.
    struct Request {
        var method: String
        /// The path, with all bytes except unreserved ones and `/` percent-encoded.
        var path: String
        /// The items of the query, not encoded.
        var query: [(name: String, value: String)] = []
        /// The value of `Host`.
        var host: String
        /// The other fields to sign.
        var fields: [(name: String, value: String)] = []
        /// The SHA-256 of the content in hexadecimal digits.
        var contentHash: String
    }

    private static let algorithm = "AWS4-HMAC-SHA256"

    /// Returns the fields to send with a request, with those that the signature adds.
    func fields(of request: Request, at time: WallTime) -> [(name: String, value: String)] {
        let date = Self.text(time)
        let day = String(date.prefix(8))
        var fields =
            request.fields + [
                ("Host", request.host), ("x-amz-content-sha256", request.contentHash), ("x-amz-date", date),
            ]
        if let token = credentials.sessionToken { fields.append(("x-amz-security-token", token)) }
        let canonical = fields.map { ($0.name.lowercased(), $0.value) }.sorted { $0.0 < $1.0 }
        let signedNames = canonical.map(\.0).joined(separator: ";")
        let text = [
            request.method, request.path, Self.queryText(request.query),
            canonical.map { "\($0.0):\($0.1)\n" }.joined(), signedNames, request.contentHash,
        ].joined(separator: "\n")
        let scope = "\(day)/\(region)/s3/aws4_request"
        let signedText = [Self.algorithm, date, scope, Self.hash(Array(text.utf8))].joined(separator: "\n")
        var key = Array("AWS4\(credentials.secretAccessKey)".utf8)
        for part in [day, region, "s3", "aws4_request", signedText] {
            key = Array(HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: SymmetricKey(data: key)))
        }
        fields.append(
            (
                "Authorization",
                "\(Self.algorithm) Credential=\(credentials.accessKeyID)/\(scope), SignedHeaders=\(signedNames), "
                    + "Signature=\(Self.hexadecimal(key))"
            ))
        return fields
    }

    /// Returns the SHA-256 of bytes in hexadecimal digits.
    static func hash(_ bytes: [UInt8]) -> String { hexadecimal(Array(SHA256.hash(data: bytes))) }

    /// Returns a query as it is sent and signed: encoded, and sorted by name.
    static func queryText(_ items: [(name: String, value: String)]) -> String {
        items.map { (encoded($0.name), encoded($0.value)) }.sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
    }

    /// Encodes all bytes except unreserved ones (RFC 3986, section 2.3), and the slash in paths.
    static func encoded(_ text: String, isPath: Bool = false) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(UnicodeScalar(byte))
            case UInt8(ascii: "/") where isPath: encoded += "/"
            default: encoded += "%" + hexadecimal([byte]).uppercased()
            }
        }
        return encoded
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { (byte: UInt8) -> String in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    /// Returns a time as `20130524T000000Z`.
    private static func text(_ time: WallTime) -> String {
        Timestamp.text(time).prefix { $0 != "." }.filter { $0 != "-" && $0 != ":" } + "Z"
    }
}
