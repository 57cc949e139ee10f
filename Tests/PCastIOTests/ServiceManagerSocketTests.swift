import Foundation
import PCastCore
import PCastTestSupport
import Testing

@testable import PCastIO

/// The interface to a service manager, with real sockets.
struct ServiceManagerSocketTests {
    /// Returns names of a socket in a folder and in the abstract namespace.
    private static func names() -> [String] {
        let name = "pcast-notify-\(UUID().uuidString.prefix(8))"
        return [FileManager.default.temporaryDirectory.appendingPathComponent(name).path, "@\(name)"]
    }

    @Test("a manager receives each state in the words of sd_notify, at a path and at an abstract name")
    func states() throws {
        for name in Self.names() {
            defer { unlink(name) }
            let received = try NotificationSocket(name)
            let manager = try #require(try ServiceManagerSocket(environment: ["NOTIFY_SOCKET": name]))
            #expect(manager.watchdogTimeout == nil)
            try manager.notify([.ready, .status("two\nlines\r\nREADY=0")])
            #expect(received.receive() == ["READY=1", "STATUS=two lines READY=0"])
            try manager.notify([.reloading(Instant(nanoseconds: 5_000_999))])
            #expect(received.receive() == ["RELOADING=1", "MONOTONIC_USEC=5000"])
            try manager.notify([.alive])
            #expect(received.receive() == ["WATCHDOG=1"])
            try manager.notify([.stopping, .extendedTimeout(.seconds(15))])
            #expect(received.receive() == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=15000000"])
            #expect(received.receiveArrived() == nil)
        }
    }

    @Test("a watchdog counts if it is meant for this process")
    func watchdog() throws {
        func timeout(_ variables: [String: String]) throws -> TimeSpan? {
            let environment = variables.merging(["NOTIFY_SOCKET": "/run/none"]) { own, _ in own }
            return try ServiceManagerSocket(environment: environment, process: 42)?.watchdogTimeout
        }
        #expect(try timeout(["WATCHDOG_USEC": "30000000"]) == .seconds(30))
        #expect(try timeout(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"]) == .seconds(30))
        #expect(try timeout(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"]) == nil)
        for text in ["", "0", "-1", "ten", "99999999999999999999"] {
            #expect(try timeout(["WATCHDOG_USEC": text]) == nil, "\(text)")
        }
        #expect(try timeout(["WATCHDOG_USEC": "\(Int64.max)"]) == .seconds(86_400))
    }

    @Test("without a manager there is none, and an address that is no Unix socket is an error")
    func addresses() throws {
        #expect(try ServiceManagerSocket(environment: [:]) == nil)
        #expect(try ServiceManagerSocket(environment: ["NOTIFY_SOCKET": ""]) == nil)
        for name in ["relative", "vsock:2:1234", "/" + String(repeating: "x", count: 108), "/a\0b"] {
            #expect(throws: IOError.self) { try ServiceManagerSocket(environment: ["NOTIFY_SOCKET": name]) }
        }
    }

    @Test("a manager that has ended is an error")
    func gone() throws {
        let manager = try #require(try ServiceManagerSocket(environment: ["NOTIFY_SOCKET": Self.names()[0]]))
        #expect(throws: IOError.self) { try manager.notify([.ready]) }
    }
}
