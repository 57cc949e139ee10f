/// The address of a published stream: `rtmp://HOST/APPLICATION/KEY`, also with `;capabilities=a,b` or `?name=value`.
///
/// Encoders divide the path differently between the command `connect` and the command `publish`. Some send the key and
/// the parameters with the application.
package struct RTMPPublishAddress: Hashable, Sendable {
    /// A parameter of the address.
    package struct Parameter: Hashable, Sendable {
        /// The name.
        package let name: String
        /// The value; empty if there is none.
        package let value: String

        /// Creates a parameter.
        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The first component of the path, `ingest`.
    package let application: String
    /// The rest of the path, which is a secret.
    package let key: String
    /// The capabilities of the stream (`;capabilities=a,b`).
    package let capabilities: [String]
    /// The other parameters in their order. They may be secret.
    package let parameters: [Parameter]

    /// The maximum size of the path and the parameters in bytes. It allows a digest token as the key.
    package static let maximumSize = 8_192
    /// The maximum number of parameters and of capabilities.
    package static let maximumCount = 64

    /// Joins the application of `connect` and the name of `publish`. Returns nil if they exceed ``maximumSize`` or
    /// ``maximumCount``.
    package init?(application: String, name: String) {
        guard application.utf8.count + name.utf8.count <= Self.maximumSize else { return nil }
        let first = Self.divided(application)
        let second = Self.divided(name)
        var applicationPath = first.path[...]
        while applicationPath.last == "/" { applicationPath.removeLast() }
        while applicationPath.first == "/" { applicationPath.removeFirst() }
        let namePath = second.path.drop { $0 == "/" }
        // Without a separate name, the key is in the application.
        if let slash = applicationPath.firstIndex(of: "/") {
            let rest = applicationPath[applicationPath.index(after: slash)...].drop { $0 == "/" }
            self.application = Self.decoded(applicationPath[..<slash])
            key = Self.decoded(namePath.isEmpty ? rest : rest + "/" + namePath)
        } else {
            self.application = Self.decoded(applicationPath)
            key = Self.decoded(namePath)
        }
        let parameters = first.parameters + second.parameters
        capabilities = parameters.filter { $0.name == "capabilities" }.flatMap { parameter in
            parameter.value.split(separator: ",").map { String($0) }
        }
        self.parameters = parameters.filter { $0.name != "capabilities" }
        guard parameters.count <= Self.maximumCount, capabilities.count <= Self.maximumCount else { return nil }
    }

    /// Divides a text into its path and its parameters. A parameter begins with `;` or `?`, and after a `?` also with
    /// `&`.
    private static func divided(_ text: String) -> (path: String, parameters: [Parameter]) {
        let path = text.prefix { $0 != ";" && $0 != "?" }
        var parameters: [Parameter] = []
        var isQuery = false
        var rest = text[path.endIndex...]
        while let mark = rest.first {
            if mark == "?" { isQuery = true }
            rest.removeFirst()
            let part = rest.prefix { $0 != ";" && $0 != "?" && !(isQuery && $0 == "&") }
            rest = rest[part.endIndex...]
            guard !part.isEmpty else { continue }
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            parameters.append(
                Parameter(name: decoded(halves[0]), value: halves.count > 1 ? decoded(halves[1]) : ""))
        }
        return (String(path), parameters)
    }

    /// Replaces percent-encoded bytes (RFC 3986, section 2.1). A text that is then not UTF-8 stays as it is.
    private static func decoded(_ text: Substring) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(hexadecimal: rest.prefix(2))
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self) ?? String(text)
    }
}

extension RTMPPublishAddress: CustomStringConvertible {
    /// The address without its secrets, for logs.
    package var description: String { "\(application)/…" }
}

extension UInt8 {
    /// Parses two hexadecimal digits.
    fileprivate init?(hexadecimal digits: Substring.UTF8View.SubSequence) {
        var value: UInt8 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | (digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | (digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | (digit - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        self = value
    }
}
