import PCastCore
import Testing

@testable import PCastPlatform

/// Logins to the dashboard, and attempts at them, on virtual time.
@Suite struct DashboardLoginsTests {
    private let first = ApplicationID("first")

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test("a login lasts twelve hours while it is used, and half an hour while it is not") func expiry() {
        var logins = DashboardLogins()
        logins.open("a", of: first, at: at(0))
        logins.open("b", of: first, at: at(0))
        for second in stride(from: Int64(0), to: 12 * 3_600, by: 1_000) {
            #expect(logins.application(of: "a", at: at(second)) == first)
        }
        #expect(logins.application(of: "b", at: at(30 * 60)) == nil)
        #expect(logins.application(of: "a", at: at(12 * 3_600)) == nil)
        #expect(logins.application(of: "c", at: at(1)) == nil)
        #expect(logins.count == 0)
    }

    @Test("a logout is effective at once") func close() {
        var logins = DashboardLogins()
        logins.open("a", of: first, at: at(0))
        logins.close("a")
        #expect(logins.application(of: "a", at: at(1)) == nil)
    }

    @Test("a thousand logins are possible, and then the least recently used one ends") func capacity() {
        var logins = DashboardLogins()
        for number in 0..<1_000 { logins.open("\(number)", of: first, at: at(Int64(number))) }
        #expect(logins.application(of: "0", at: at(1_000)) == first)
        logins.open("new", of: first, at: at(1_001))
        #expect(logins.count == 1_000)
        #expect(logins.application(of: "1", at: at(1_002)) == nil)
        #expect(logins.application(of: "0", at: at(1_002)) == first)
    }

    @Test("ten attempts may fail at once, then one every six seconds, for each address") func attempts() {
        var attempts = LoginAttempts()
        let (mine, other) = (IPAddress("192.0.2.1"), IPAddress("192.0.2.2"))
        for _ in 0..<10 {
            #expect(attempts.wait(of: mine, at: at(0)) == .zero)
            attempts.noteFailure(of: mine, at: at(0))
        }
        #expect(attempts.wait(of: mine, at: at(0)) == .seconds(6))
        #expect(attempts.wait(of: mine, at: at(5)) == .seconds(1))
        #expect(attempts.wait(of: mine, at: at(6)) == .zero)
        attempts.noteFailure(of: mine, at: at(6))
        #expect(attempts.wait(of: mine, at: at(6)) == .seconds(6))
        #expect(attempts.wait(of: other, at: at(0)) == .zero)
        #expect(attempts.wait(of: mine, at: at(3_600)) == .zero)
    }

    @Test("an IPv6 network has the attempts of one address") func network() {
        var attempts = LoginAttempts()
        for number in 0..<10 { attempts.noteFailure(of: IPAddress("2001:db8::\(number)"), at: at(0)) }
        #expect(attempts.wait(of: IPAddress("2001:db8::ffff"), at: at(0)) > .zero)
        #expect(attempts.wait(of: IPAddress("2001:db8:0:1::1"), at: at(0)) == .zero)
    }

    @Test("many addresses share the remaining attempts if not each can be remembered") func sharedAttempts() {
        var attempts = LoginAttempts()
        for number in 0..<LoginAttempts.capacity {
            attempts.noteFailure(of: IPAddress("10.0.\(number / 256).\(number % 256)"), at: at(0))
        }
        for _ in 0..<10 { attempts.noteFailure(of: IPAddress("192.0.2.1"), at: at(0)) }
        #expect(attempts.wait(of: IPAddress("192.0.2.2"), at: at(0)) > .zero)
        #expect(attempts.wait(of: IPAddress("10.0.0.1"), at: at(0)) == .zero)
        // Six seconds later the attempts have recovered, and there is capacity again.
        attempts.noteFailure(of: IPAddress("192.0.2.3"), at: at(6))
        #expect(attempts.wait(of: IPAddress("192.0.2.4"), at: at(6)) == .zero)
    }
}
