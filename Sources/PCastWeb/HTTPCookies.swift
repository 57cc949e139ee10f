import Foundation
import Synchronization

/// The cookies of a client (RFC 6265), which end with it.
///
/// At most 128 cookies of at most 4 KiB are stored. A new one replaces the oldest.
package final class HTTPCookies: Sendable {
    private struct Cookie {
        var name: String
        var value: String
        var domain: String
        /// Whether the cookie is sent to its host only, not to subdomains.
        var isHostOnly: Bool
        var path: String
        var isSecure: Bool
        /// The expiry time; nil until the client ends.
        var expires: Date?
    }

    private let cookies = Mutex<[Cookie]>([])
    private static let capacity = 128
    private static let sizeLimit = 4_096

    /// Creates an empty store.
    package init() {}

    /// Stores the cookies of the `Set-Cookie` fields in a response from an address.
    package func take(_ fields: [String], from address: WebAddress) {
        for field in fields { if let cookie = Self.cookie(field, address) { store(cookie) } }
    }

    private func store(_ cookie: Cookie) {
        cookies.withLock { cookies in
            cookies.removeAll { $0.name == cookie.name && $0.domain == cookie.domain && $0.path == cookie.path }
            if cookie.expires.map({ $0 <= Date() }) ?? false { return }
            if cookies.count >= Self.capacity { cookies.removeFirst() }
            cookies.append(cookie)
        }
    }

    /// Parses a `Set-Cookie` field; nil if it is invalid or of another domain (RFC 6265, sections 5.2 and 5.3).
    private static func cookie(_ field: String, _ address: WebAddress) -> Cookie? {
        guard field.utf8.count <= sizeLimit, field.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        // Bytes are compared, because a combining character would be part of the character before it.
        var parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { Substring($0).trimmed }
        guard let (name, value) = parts.removeFirst().pair, !name.isEmpty else { return nil }
        let host = address.host.lowercased()
        let folder = address.path.prefix { $0 != "?" }.lastIndex(of: "/").map { String(address.path[..<$0]) } ?? ""
        var cookie = Cookie(
            name: name, value: value, domain: host, isHostOnly: true, path: folder.isEmpty ? "/" : folder,
            isSecure: false)
        var maxAge: TimeInterval?
        for part in parts {
            let (key, value) = part.pair ?? (part, "")
            switch key.lowercased() {
            case "domain" where !value.isEmpty:
                let domain = (value.hasPrefix(".") ? String(value.dropFirst()) : value).lowercased()
                // A host may set cookies for its own domain only, and not for a top-level domain.
                guard host == domain || host.hasSuffix("." + domain) && domain.contains(".") && !address.isNumeric
                else {
                    return nil
                }
                (cookie.domain, cookie.isHostOnly) = (domain, host == domain && address.isNumeric)
            case "path" where value.hasPrefix("/"): cookie.path = value
            case "secure": cookie.isSecure = true
            case "max-age": maxAge = Double(value).map { min(max($0, -1), 1e9) }
            case "expires": cookie.expires = date(value)
            default: break
            }
        }
        if let maxAge { cookie.expires = Date(timeIntervalSinceNow: maxAge) }
        return cookie
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// Parses the expiry time of a cookie, such as `Wed, 21 Oct 2099 07:28:00 GMT`. The order of its fields and the
    /// delimiters between them are free (RFC 6265, section 5.1.1).
    private static func date(_ text: String) -> Date? {
        var fields = DateComponents()
        for token in text.utf8.split(whereSeparator: isDateDelimiter) {
            let digits = token.prefix { (0x30...0x39).contains($0) }
            let number = digits.count <= 4 ? Int(Substring(digits)) : nil
            if fields.hour == nil, let time = time(token) {
                (fields.hour, fields.minute, fields.second) = time
            } else if fields.day == nil, let number, digits.count <= 2 {
                fields.day = number
            } else if fields.month == nil, let index = months.firstIndex(of: Substring(token.prefix(3)).lowercased()) {
                fields.month = index + 1
            } else if fields.year == nil, let number, digits.count >= 2 {
                fields.year = number + (number < 70 ? 2_000 : number < 100 ? 1_900 : 0)
            }
        }
        guard fields.hour != nil, fields.month != nil, let day = fields.day, let year = fields.year, year >= 1_601
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        // A day that its month does not have would become one of the next month.
        return calendar.date(from: fields).flatMap { calendar.component(.day, from: $0) == day ? $0 : nil }
    }

    private static func isDateDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Parses a time of day with two colons; nil for another text.
    private static func time(_ token: Substring.UTF8View) -> (hour: Int, minute: Int, second: Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let numbers = parts.enumerated().map { index, part -> Int? in
            let digits = part.prefix { (0x30...0x39).contains($0) }
            guard digits.count <= 2, index == 2 || digits.count == part.count else { return nil }
            return Int(Substring(digits))
        }
        guard let hour = numbers[0], let minute = numbers[1], let second = numbers[2], hour < 24, minute < 60,
            second < 60
        else { return nil }
        return (hour, minute, second)
    }

    /// Returns the value of the `Cookie` field for an address; nil if there are no cookies (RFC 6265, section 5.4).
    package func field(for address: WebAddress) -> String? {
        let host = address.host.lowercased()
        let path = String(address.path.prefix { $0 != "?" })
        let now = Date()
        let sent = cookies.withLock { cookies in
            cookies.removeAll { $0.expires.map { $0 <= now } ?? false }
            return cookies.filter { cookie in
                let isDomain = host == cookie.domain || !cookie.isHostOnly && host.hasSuffix("." + cookie.domain)
                let isPath =
                    path == cookie.path
                    || path.hasPrefix(cookie.path.hasSuffix("/") ? cookie.path : cookie.path + "/")
                return isDomain && isPath && (!cookie.isSecure || address.isSecure)
            }
        }
        guard !sent.isEmpty else { return nil }
        return sent.sorted { $0.path.utf8.count > $1.path.utf8.count }.map { "\($0.name)=\($0.value)" }
            .joined(separator: "; ")
    }
}

extension StringProtocol {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespaces) }

    fileprivate var pair: (String, String)? {
        guard let sign = utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        return (self[..<sign].trimmed, self[utf8.index(after: sign)...].trimmed)
    }
}
