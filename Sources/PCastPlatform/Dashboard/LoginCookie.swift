import Hummingbird
import PCastMedia
import PCastWeb

/// The cookie of a login (RFC 6265): no script reads it, no other site's page has it sent, and it ends with the login.
enum LoginCookie {
    /// Cookies are not kept apart by ports: each port has a name of its own, so that platforms on one computer do not log
    /// each other out. By TLS its name says that it is of this host, and was set by TLS.
    private static func name(_ context: WebRequestContext, isSecure: Bool) -> String {
        "\(isSecure ? "__Host-" : "")pcast-login-\(context.localPort ?? 0)"
    }

    /// - Parameter ticket: nil to forget it.
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
