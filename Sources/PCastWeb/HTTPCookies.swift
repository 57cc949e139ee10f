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
    func take(_ fields: [String], from address: WebAddress) {
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
        var parts = field.split(separator: ";", omittingEmptySubsequences: false).map { $0.trimmed }
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

    private static func date(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        for format in ["EEE, dd MMM yyyy HH:mm:ss zzz", "EEE, dd-MMM-yyyy HH:mm:ss zzz", "EEE, dd-MMM-yy HH:mm:ss zzz"]
        {
            formatter.dateFormat = format
            if let date = formatter.date(from: text) { return date }
        }
        return nil
    }

    /// Returns the value of the `Cookie` field for an address; nil if there are no cookies (RFC 6265, section 5.4).
    func field(for address: WebAddress) -> String? {
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
        guard let sign = firstIndex(of: "=") else { return nil }
        return (self[..<sign].trimmed, self[index(after: sign)...].trimmed)
    }
}
