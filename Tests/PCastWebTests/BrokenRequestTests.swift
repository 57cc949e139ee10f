import PCastWeb
import Testing

/// Invalid HTTP requests. The server answers or closes the connection, and continues.
@Suite struct BrokenRequestTests {
    @Test(
        "invalid HTTP is answered 400 or closed",
        arguments: [
            "nonsense\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
            "GET / HTTP/1.1\r\nbroken header\r\n\r\n",
            "POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
            "POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}", "GET / HTTP/1.1\r\nHost: a\u{0}b\r\n\r\n",
        ])
    func nonsense(request: String) async throws {
        try await TestServer.run { server in
            let connection = RawConnection(port: server.port)
            try await connection.send(request)
            #expect(try await eventually { connection.isClosed || connection.text.hasPrefix("HTTP/1.1 400 ") })
            #expect(try await HTTPRequests.send("GET", server.uri + "/hello", within: .seconds(600)).status == 200)
        }
    }

    @Test("invalid data after a valid request ends the connection, after the response") func nonsenseLater()
        async throws
    {
        try await TestServer.run { server in
            let connection = RawConnection(port: server.port)
            try await connection.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await eventually { connection.text.hasSuffix("hello") })
            try await connection.send("nonsense\r\n\r\n")
            #expect(try await eventually { connection.isClosed || connection.text.contains("HTTP/1.1 400 ") })
        }
    }

    @Test("endless headers are not collected") func endlessHeaders() async throws {
        // Several times the kernel's buffers of both ends, while a slow server has read nothing yet.
        let bound = 256 << 20
        try await TestServer.run { server in
            let connection = RawConnection(port: server.port)
            try await connection.send("GET /hello HTTP/1.1\r\nHost: a\r\n")
            var sent = 0
            while !connection.isClosed, sent < bound {
                do {
                    try await connection.send("X-\(sent): " + String(repeating: "x", count: 16_000) + "\r\n")
                } catch {
                    break
                }
                sent += 16_000
            }
            #expect(try await eventually { connection.isClosed || !connection.received.isEmpty })
            #expect(sent < bound)
        }
    }

    @Test("a truncated body does not harm the server") func cutBody() async throws {
        try await TestServer.run { server in
            let connection = RawConnection(port: server.port)
            try await connection.send("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nshort")
            try await connection.close()
            let next = try await HTTPRequests.send("GET", server.uri + "/hello", within: .seconds(600))
            #expect(next.body == Array("hello".utf8))
        }
    }

    @Test("pipelined requests are answered in order") func pipelined() async throws {
        try await TestServer.run { server in
            let connection = RawConnection(port: server.port)
            try await connection.send(
                "POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                    + "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(try await eventually { connection.isClosed })
            let bodies = connection.text.components(separatedBy: "\r\n\r\n")
            #expect(bodies.count == 3)
            #expect(bodies.last == "hello")
            #expect(bodies.dropFirst().first?.hasPrefix("3HTTP/1.1 200") == true)
        }
    }
}

extension String {
    fileprivate func components(separatedBy separator: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}
