import Hummingbird
import PCastCore
import PCastWeb

/// The cookie of a login (RFC 6265). Scripts cannot read it, requests of other sites do not send it, and it expires
/// with the login.
enum LoginCookie {
    /// Returns the name of the cookie. Cookies do not depend on the port, so the name contains it. Otherwise two
    /// platforms on one host would overwrite each other's cookie. With TLS, the prefix `__Host-` restricts the cookie
    /// to this host and to TLS.
    private static func name(_ context: WebRequestContext, isSecure: Bool) -> String {
        "\(isSecure ? "__Host-" : "")pcast-login-\(context.localPort ?? 0)"
    }

    /// Returns the value of `Set-Cookie`. A nil ticket deletes the cookie.
    static func value(_ ticket: String?, _ context: WebRequestContext, isSecure: Bool) -> String {
        let age = ticket == nil ? 0 : Int(DashboardLogins.lifetime.seconds)
        return "\(name(context, isSecure: isSecure))=\(ticket ?? ""); Path=/; Max-Age=\(age); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }

    static func ticket(of request: Request, _ context: WebRequestContext) -> String? {
        let names = [true, false].map { name(context, isSecure: $0) }
        for field in request.headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, names.contains(String(parts[0]).trimmingSpaces) else { continue }
                return String(parts[1]).trimmingSpaces
            }
        }
        return nil
    }
}
