import FoundationEssentials
import PCastCore
import PCastEdgeAuth
import Testing

@testable import PCastPlatform

/// The management API for applications' backends, under `/pcast`.
@Suite struct ManagementAPITests {
    private struct Issued: Decodable {
        let status: String
        let streamToken: String?
        let authenticationToken: String?
    }

    private func decoded<Value: Decodable>(_ type: Value.Type, _ answer: TestPlatform.Response) throws -> Value {
        try JSONDecoder().decode(type, from: Data(answer.body.utf8))
    }

    @Test("tokens to authenticate, publish and view are issued for one purpose each") func tokens() async throws {
        try await TestPlatform.run { platform async throws in
            let asked = try await platform.ask(
                "POST", "/pcast/stream", #"{"sessionId":"*","capabilities":["real-time"]}"#)
            let publishing = try #require(try decoded(Issued.self, asked).streamToken)
            #expect(try await platform.post("/whep", try Offers.viewer(), token: publishing).status == 401)
            let (stream, _) = try await platform.publish(token: publishing)
            let viewing = try #require(
                try decoded(
                    Issued.self,
                    try await platform.ask(
                        "POST", "/pcast/stream",
                        #"{"originStreamId":"nothing","alternateOriginStreamIds":["none","\#(stream)"]}"#)
                ).streamToken)
            #expect(try await platform.post("/whip", try Offers.publisher(), token: viewing).status == 401)
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), token: viewing).status == 201)
            let answer = try await platform.ask("POST", "/pcast/auth", "{}")
            let authentication = try #require(try decoded(Issued.self, answer).authenticationToken)
            #expect(try await platform.post("/whip", try Offers.publisher(), token: authentication).status == 401)
            try await ProtocolClient.run(platform) { client async throws in
                #expect(try await client.authenticate(authentication) != nil)
            }
        }
    }

    @Test("a token for one session is invalid for another") func sessionToken() async throws {
        try await TestPlatform.run { platform async throws in
            let answer = try await platform.ask("POST", "/pcast/stream", #"{"sessionId":"session-of-another"}"#)
            let token = try #require(try decoded(Issued.self, answer).streamToken)
            #expect(try await platform.post("/whip", try Offers.publisher(), token: token).status == 401)
        }
    }

    @Test("credentials may be in the body, and wrong ones are rejected") func bodyCredentials() async throws {
        try await TestPlatform.run { platform async throws in
            let right = #"{"applicationId":"first","secret":"sesame"}"#
            #expect(try await platform.send("POST", "/pcast/auth", body: right).status == 200)
            for wrong in [
                #"{"applicationId":"first","secret":"no"}"#, #"{"applicationId":"third","secret":""}"#,
                #"{"applicationId":"first"}"#, "{}", "", "[]",
            ] { #expect(try await platform.send("POST", "/pcast/auth", body: wrong).status == 401, "\(wrong)") }
        }
    }

    @Test("an unknown origin answers 404, and one that has ended 410") func origins() async throws {
        try await TestPlatform.run { platform async throws in
            let (stream, _) = try await platform.publish()
            let body = #"{"originStreamId":"\#(stream)"}"#
            #expect(try await platform.ask("POST", "/pcast/stream", body).status == 200)
            #expect(try await platform.ask("DELETE", "/pcast/stream", #"{"streamId":"\#(stream)"}"#).status == 200)
            #expect(
                try await eventually {
                    try await platform.ask("POST", "/pcast/stream", body).body == #"{"status":"origin-ended"}"#
                })
            let never = try await platform.ask("POST", "/pcast/stream", #"{"originStreamId":"never"}"#)
            #expect(never.status == 404)
            #expect(never.body == #"{"status":"origin-not-found"}"#)
        }
    }

    private struct List: Decodable {
        struct Stream: Decodable { let streamId: String }
        let streams: [Stream]
        let start: String?
    }

    @Test("lists are divided into parts, live and ended alike", arguments: ["live", "ended"]) func parts(state: String)
        async throws
    {
        try await TestPlatform.run { platform async throws in
            var streams: [String] = []
            for _ in 0..<5 { streams.append(try await platform.publish().stream) }
            if state == "ended" {
                for stream in streams {
                    _ = try await platform.ask("DELETE", "/pcast/stream", #"{"streamId":"\#(stream)"}"#)
                }
                let haveEnded = try await eventually {
                    let answer = try await platform.ask("GET", "/pcast/streams?state=ended")
                    return try decoded(List.self, answer).streams.count == 5
                }
                #expect(haveEnded)
            }
            var seen: [String] = []
            var start: String? = "0"
            while let next = start {
                let answer = try await platform.ask("GET", "/pcast/streams?state=\(state)&length=2&start=\(next)")
                let list = try decoded(List.self, answer)
                #expect(list.streams.count <= 2)
                seen += list.streams.map(\.streamId)
                start = list.start
            }
            #expect(seen == streams)
        }
    }

    @Test(
        "an invalid query answers 400",
        arguments: ["length=0", "length=1001", "length=x", "start=-1", "state=dead", "start=99999999999999999999"])
    func queries(query: String) async throws {
        try await TestPlatform.run { platform async throws in
            let answer = try await platform.ask("GET", "/pcast/streams?\(query)")
            #expect(answer.status == 400)
            #expect(answer.body.contains("reason"))
        }
    }

    @Test("a stream's details with viewers and data quality are available to its application only")
    func inspection() async throws {
        try await TestPlatform.run { platform async throws in
            let (stream, _) = try await platform.publish(token: try Tokens.publishing())
            let token = try Tokens.viewing()
            #expect(try await platform.post("/whep", try Offers.viewer(), token: token).status == 201)
            let found = try await platform.ask("GET", "/pcast/stream/\(stream)")
            #expect(found.status == 200)
            for part in [#""viewers":1"#, #""views":1"#, #""dataQuality":{"reason":"none","status":"all"}"#] {
                #expect(found.body.contains(part), "\(part)")
            }
            let other = "Basic \(Base64.encode(Array("second:treasure".utf8)))"
            let foreign = try await platform.send("GET", "/pcast/stream/\(stream)", ["Authorization": other])
            #expect(foreign.status == 404)
        }
    }

    @Test("data of other applications is invisible") func ownership() async throws {
        try await TestPlatform.run { platform async throws in
            for path in ["callback", "notifications"] {
                #expect(try await platform.ask("GET", "/pcast/application/second/\(path)").status == 404)
                #expect(try await platform.ask("GET", "/pcast/application/first/\(path)").status == 200)
                // IDs may contain any character and are percent-encoded.
                #expect(try await platform.ask("GET", "/pcast/application/%66irst/\(path)").status == 200)
            }
        }
    }

    @Test("callback addresses can be set, changed, listed and removed by name") func callbacks() async throws {
        try await TestPlatform.run { platform async throws in
            let place = "/pcast/application/first/callback"
            let body = #"{"callback":{"protocol":"https","host":"backend.example","path":"/a","query":"b=c"}}"#
            let set = try await platform.ask("PUT", place, body)
            #expect(set.status == 200)
            #expect(set.body.contains(#""uri":"https://backend.example:443/a?b=c""#))
            let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
            let second = try await platform.ask(
                "PUT", place + "/two", #"{"callback":{"host":"b.example","method":"PUT"},"signingSecret":"\#(secret)"}"#
            )
            #expect(second.body.contains(#""signingSecret":"\#(secret)""#))
            let list = try await platform.ask("GET", place)
            #expect(
                list.body == """
                    {"callbacks":[{"method":"POST","name":"default","uri":"https://backend.example:443/a?b=c"},\
                    {"method":"PUT","name":"two","uri":"http://b.example:80/"}],"status":"ok"}
                    """)
            #expect(!list.body.contains("whsec"))
            #expect(try await platform.ask("DELETE", place).status == 200)
            #expect(try await platform.ask("DELETE", place).status == 404)
            #expect(try await platform.ask("DELETE", place + "/two").status == 200)
        }
    }

    @Test(
        "an invalid callback address answers 400",
        arguments: [
            #"{"host":""}"#, #"{"host":"a","port":0}"#, #"{"host":"a","port":70000}"#,
            #"{"host":"a","protocol":"ftp"}"#,
            #"{"host":"a","path":"b"}"#, #"{"host":"a b"}"#, #"{"host":"a@b"}"#, #"{"host":"a","path":"/\r\nX: y"}"#,
            #"{"host":"a","method":"GET"}"#, #"{"host":"a/b"}"#, #"{"host":"a:80"}"#, #"{"port":80}"#,
            #"{"host":"a#b"}"#,
        ])
    func badCallbacks(callback: String) async throws {
        try await TestPlatform.run { platform async throws in
            let answer = try await platform.ask(
                "PUT", "/pcast/application/first/callback", #"{"callback":\#(callback)}"#)
            #expect(answer.status == 400, "\(answer.body)")
        }
    }

    @Test("reports are tables of the requested streams and viewers") func reports() async throws {
        try await TestPlatform.run { platform async throws in
            let token = try Tokens.make {
                $0.forPublishingOnly().applyTag("channelId:one").applyTag("with, comma \"and\" quotes")
            }
            let (stream, _) = try await platform.publish(token: token)
            let (other, _) = try await platform.publish(token: try Tokens.publishing())
            let viewing = try Tokens.make { $0.forStreamingOnly().applyTag("vip") }
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), token: viewing).status == 201)
            let all = try await platform.ask("PUT", "/pcast/reporting/publishing", #"{"publishingReport":{}}"#)
            #expect(all.header("Content-Type") == "text/csv; charset=utf-8")
            let rows = all.body.split(separator: "\r\n")
            #expect(rows.count == 3)
            #expect(rows.first?.hasPrefix("StreamId,SessionId,Tags,") == true)
            #expect(rows[1].contains(#","channelId:one;with, comma ""and"" quotes","#))
            #expect(rows[2].hasPrefix(other))
            let one = try await platform.ask(
                "PUT", "/pcast/reporting/publishing", #"{"publishingReport":{"channelIds":["one"]}}"#)
            #expect(one.body.split(separator: "\r\n").count == 2)
            let past = try await platform.ask(
                "PUT", "/pcast/reporting/publishing",
                #"{"publishingReport":{"start":"2020-01-01T00:00:00Z","end":"2021-01-01T00:00:00.000Z"}}"#)
            #expect(past.body.split(separator: "\r\n").count == 1)
            for filter in [
                "{}", #"{"tags":["vip"]}"#, #"{"channelIds":["one"],"kind":"RealTime"}"#, #"{"tags":["no"]}"#,
            ] {
                let viewed = try await platform.ask("PUT", "/pcast/reporting/viewing", #"{"viewingReport":\#(filter)}"#)
                let rows = viewed.body.split(separator: "\r\n")
                #expect(rows.count == (filter.contains("no") ? 1 : 2), "\(filter)")
                if rows.count > 1 { #expect(rows[1].contains(",\(stream),,vip,")) }
            }
            for wrong in [#"{"start":"soon"}"#, #"{"end":7}"#, #"{"kind":"HLS"}"#] {
                let answer = try await platform.ask("PUT", "/pcast/reporting/viewing", #"{"viewingReport":\#(wrong)}"#)
                #expect(answer.status == 400)
            }
        }
    }

    @Test("clients receive the address for connecting, with the host of their request") func endPoints() async throws {
        try await TestPlatform.run(tlsPort: 0) { platform in
            let list = try await platform.send("GET", "/pcast/endPoints?version=1")
            #expect(list.body == platform.uri + "/pcast/endPoint")
            let place = try await platform.send("GET", list.body)
            #expect(place.body == platform.uri.replacing("http", with: "ws") + "/ws")
        }
    }

    @Test("an unsupported method of a path answers 405 with the supported ones") func methods() async throws {
        try await TestPlatform.run { platform async throws in
            let answer = try await platform.ask("PATCH", "/pcast/stream")
            #expect(answer.status == 405)
            #expect(answer.header("Allow") == "DELETE, POST")
            #expect(try await platform.ask("POST", "/pcast/streams").header("Allow") == "GET, HEAD")
        }
    }

    @Test("the served description matches the interface: each of its paths answers") func description() async throws {
        struct Description: Decodable {
            struct Operation: Decodable { let operationId: String }
            let openapi: String
            let paths: [String: [String: Operation]]
        }
        try await TestPlatform.run { platform async throws in
            let served = try decoded(Description.self, try await platform.send("GET", "/pcast/openapi.json"))
            #expect(served.openapi == "3.1.0")
            #expect(served.paths.count >= 13)
            // The events of names have no end; `NameEventTests` read them.
            for (path, operations) in served.paths where path != ManagementAPI.nameEventsPath {
                let place = path.replacing("{application}", with: "first").replacing("{name}", with: "n")
                    .replacing("{stream}", with: "s").replacing("{notification}", with: "m").replacing(
                        "{key}", with: "k"
                    )
                    .replacing("{league}", with: "NHL").replacing("{game}", with: "1").replacing("{event}", with: "e")
                    .replacing("{room}", with: "r")
                for method in operations.keys {
                    let answer = try await platform.ask(method.uppercased(), place, method == "get" ? nil : "{}")
                    #expect(answer.status != 405 && answer.status < 500, "\(method) \(place)")
                    let isOwn = answer.body.contains("status") || answer.status == 200
                    #expect(isOwn, "\(method) \(place): \(answer.status) \(answer.body)")
                }
            }
        }
    }
}
