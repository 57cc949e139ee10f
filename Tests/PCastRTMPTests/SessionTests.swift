import PCastCore
import PCastRTMP
import Testing

@Suite struct SessionTests {
    @Test("a client connects, creates a stream and publishes")
    func publish() throws {
        var client = try RTMPTestClient.connected()
        // The reader has processed the chunk size.
        #expect(client.messages.map(\.type) == [.windowAcknowledgementSize, .setPeerBandwidth, .command])
        let connection = try #require(try client.response(1))
        #expect(connection.arguments.last?.object?["code"]?.string == "NetConnection.Connect.Success")
        try client.call("releaseStream", [.null, .string("key")])
        try client.call("FCPublish", [.null, .string("key")])
        let creation = try client.call("createStream", [.null])
        #expect(try client.response(creation)?.arguments == [.null, .number(1)])
        try client.call("publish", [.null, .string("key;capabilities=a"), .string("live")], stream: 1)
        guard case .publishRequested(let address)? = client.events.last else {
            Issue.record("\(client.events)")
            return
        }
        #expect(address.application == "ingest" && address.key == "key" && address.capabilities == ["a"])
        #expect(try client.statusCodes().isEmpty)
        client.session.acceptPublishing(at: at(0))
        try client.collect()
        #expect(try client.statusCodes() == ["NetStream.Publish.Start"])
        #expect(client.messages.last?.streamID == 1)
        #expect(client.messages.contains { $0.type == .userControl && $0.payload == [0, 0, 0, 0, 0, 1] })
        #expect(client.session.isPublishing)
    }

    @Test("media of an accepted stream is delivered with its configuration")
    func media() throws {
        var client = try RTMPTestClient.publishing()
        try client.sendMedia(.video, Media.h264Configuration)
        try client.sendMedia(.audio, Media.aacConfiguration)
        try client.sendMedia(.video, Media.h264([Media.idr], isKeyFrame: true), timestamp: 40)
        try client.sendMedia(.audio, Media.aac([1]), timestamp: 42)
        #expect(client.accessUnits.map(\.track) == [RTMPTrackID(.video), RTMPTrackID(.audio)])
        #expect(client.accessUnits.map(\.decodingTime) == [.milliseconds(40), .milliseconds(42)])
        #expect(client.warnings.isEmpty)
    }

    @Test("media before a stream is accepted, or of another message stream, is ignored")
    func ignoredMedia() throws {
        var client = try RTMPTestClient.connected()
        try client.sendMedia(.video, Media.h264Configuration)
        #expect(client.session.statistics.ignoredMessages == 1)
        client = try RTMPTestClient.publishing()
        try client.send(RTMPMessage(type: .video, streamID: 7, payload: Media.h264Configuration))
        #expect(client.session.statistics.ignoredMessages == 1)
        // librtmp omits the ID at first.
        try client.send(RTMPMessage(type: .video, streamID: 0, payload: Media.h264Configuration))
        #expect(client.session.statistics.ignoredMessages == 1)
        #expect(client.events.contains { if case .configuration = $0 { true } else { false } })
    }

    @Test("input waits while the driver decides, so that an eager encoder loses nothing")
    func eagerEncoder() throws {
        var client = try RTMPTestClient.connected()
        try client.publish()
        #expect(!client.session.acceptsInput)
        try client.sendMedia(.video, Media.h264Configuration)
        try client.sendMedia(.video, Media.h264([Media.idr], isKeyFrame: true), timestamp: 40)
        #expect(client.accessUnits.isEmpty)
        client.session.acceptPublishing(at: at(0))
        try client.collect()
        #expect(client.accessUnits.count == 1)
        #expect(client.session.acceptsInput)
    }

    @Test("the input that waits is limited")
    func pendingLimit() throws {
        var configuration = RTMPServerConfiguration()
        configuration.maximumPendingInput = 1_000
        var client = try RTMPTestClient.connected(configuration)
        try client.publish()
        try client.send([UInt8](repeating: 0, count: 1_000))
        #expect(client.error == nil)
        try client.send([0])
        #expect(client.error == .tooManyPendingBytes(maximum: 1_000))
    }

    @Test("a rejected publisher receives the status, and the connection ends")
    func reject() throws {
        var client = try RTMPTestClient.connected()
        try client.publish()
        client.session.close(.badName("The stream key is unknown."))
        try client.collect()
        #expect(try client.statusCodes() == ["NetStream.Publish.BadName"])
        #expect(client.events.last == .closed(nil))
        #expect(client.session.isClosed && client.session.deadline == nil)
        try client.sendMedia(.video, Media.h264Configuration)
        #expect(client.events.last == .closed(nil))
    }

    @Test(
        "a stream that ends is reported, and another one may follow",
        arguments: ["FCUnpublish", "deleteStream", "closeStream"])
    func unpublish(command: String) throws {
        var client = try RTMPTestClient.publishing()
        let argument: AMF0Value = command == "deleteStream" ? .number(1) : .string("key")
        try client.call(command, [.null, argument], stream: command == "closeStream" ? 1 : 0)
        #expect(client.events.last == .unpublished)
        #expect(try client.statusCodes().last == "NetStream.Unpublish.Success")
        try client.publish("other")
        client.session.acceptPublishing(at: at(0))
        #expect(client.session.isPublishing)
    }

    @Test("deleting another message stream does not end the published one")
    func deleteOtherStream() throws {
        var client = try RTMPTestClient.publishing()
        try client.call("deleteStream", [.null, .number(2)])
        #expect(client.session.isPublishing)
    }

    @Test("a client that closes the connection ends its stream")
    func inputEnded() throws {
        var client = try RTMPTestClient.publishing()
        client.session.inputEnded()
        try client.collect()
        #expect(client.events.suffix(2) == [.unpublished, .closed(nil)])
    }

    @Test("a second stream on one connection is refused, and the first one continues")
    func secondStream() throws {
        var client = try RTMPTestClient.publishing()
        try client.publish("other")
        #expect(try client.statusCodes() == ["NetStream.Publish.Start", "NetStream.Publish.BadName"])
        #expect(client.session.isPublishing)
    }

    // MARK: Commands

    @Test(
        "commands that encoders send are answered",
        arguments: ["_checkbw", "releaseStream", "FCPublish", "FCUnpublish"])
    func answered(command: String) throws {
        var client = try RTMPTestClient.connected()
        let number = try client.call(command, [.null, .string("key")])
        #expect(try client.response(number)?.name == "_result")
    }

    @Test("the length of a stream is zero")
    func streamLength() throws {
        var client = try RTMPTestClient.connected()
        let number = try client.call("getStreamLength", [.null, .string("key")])
        #expect(try client.response(number)?.arguments == [.null, .number(0)])
    }

    @Test("an unknown command is answered with an error, and playing with a status")
    func unsupported() throws {
        var client = try RTMPTestClient.connected()
        let number = try client.call("unknown", [.null])
        let response = try #require(try client.response(number))
        #expect(response.name == "_error")
        #expect(response.arguments.last?.object?["code"]?.string == "NetConnection.Call.Failed")
        try client.call("play", [.null, .string("key")], stream: 1)
        #expect(try client.statusCodes() == ["NetStream.Play.Failed"])
        #expect(!client.session.isClosed)
    }

    @Test("a command with a leading format byte is the same")
    func commandWithFormat() throws {
        var client = try RTMPTestClient.connected()
        let payload = RTMPCommand("createStream", transaction: 9, [.null]).payload
        try client.send(RTMPMessage(type: .commandWithFormat, payload: [0] + payload))
        #expect(try client.response(9)?.arguments == [.null, .number(1)])
        try client.send(RTMPMessage(type: .commandWithFormat, payload: payload))
        #expect(try client.commands.last?.arguments == [.null, .number(2)])
    }

    @Test("the number of message streams is limited")
    func streamLimit() throws {
        var client = try RTMPTestClient.connected()
        for _ in 0..<64 { try client.call("createStream", [.null]) }
        let number = try client.call("createStream", [.null])
        #expect(try client.response(number)?.name == "_error")
    }

    @Test("a malformed command is ignored only while a stream is published")
    func malformedCommand() throws {
        let message = RTMPMessage(type: .command, payload: [2, 0, 9, 0x61])
        var client = try RTMPTestClient.publishing()
        try client.send(message)
        #expect(client.session.isPublishing)
        client = try RTMPTestClient.connected()
        try client.send(message)
        #expect(client.error == .malformedCommand(.truncated))
        #expect(try client.statusCodes() == ["NetConnection.Connect.Closed"])
    }

    @Test("only connect is permitted first, and only once")
    func order() throws {
        var client = RTMPTestClient()
        try client.send(RTMPTestClient.handshake)
        try client.call("createStream", [.null])
        #expect(client.error == .unexpectedCommand("createStream"))
        client = try RTMPTestClient.connected()
        try client.connect()
        #expect(client.error == .unexpectedCommand("connect"))
    }

    @Test("an address that is too long is refused")
    func longAddress() throws {
        var client = try RTMPTestClient.connected()
        try client.publish(String(repeating: "k", count: 9_000))
        #expect(try client.statusCodes() == ["NetStream.Publish.BadName"])
        #expect(client.events.last == .closed(nil))
    }

    // MARK: Enhanced RTMP

    private let enhanced: AMF0Object = [
        "fourCcList": .strictArray([.string("av01"), .string("hvc1"), .string("bad")]),
        "videoFourCcInfoMap": .object(["vp09": .number(2)]), "capsEx": .number(1),
    ]

    @Test("codecs and capabilities are exchanged with clients of Enhanced RTMP, and only with them")
    func capabilities() throws {
        var client = try RTMPTestClient.connected(RTMPServerConfiguration(), enhanced)
        guard case .connected(let information)? = client.events.first else {
            Issue.record("not connected")
            return
        }
        #expect(information.codecs == [.av1, .hevc, .vp9])
        #expect(information.capabilities == .reconnect)
        #expect(information.encoder == "test")
        for object in try client.response(1)?.arguments.compactMap(\.object) ?? [] {
            #expect(object["capsEx"]?.count == 15)
            #expect(object["fourCcList"]?.elements?.contains(.string("hvc1")) == true)
            #expect(object["audioFourCcInfoMap"]?.object?["Opus"]?.count == 4)
        }
        client = try RTMPTestClient.connected()
        #expect(try client.response(1)?.arguments.allSatisfy { $0.object?["capsEx"] == nil } == true)
    }

    @Test("a client that supports it is asked to reconnect, and publishes until it does")
    func reconnect() throws {
        var client = try RTMPTestClient.publishing(RTMPServerConfiguration(), enhanced)
        let isAsked = client.session.requestReconnect(
            to: "rtmp://other/ingest", description: "The server is restarted.")
        #expect(isAsked)
        try client.collect()
        let status = try #require(try client.commands.last)
        #expect(status.arguments.last?.object?["code"]?.string == "NetConnection.Connect.ReconnectRequest")
        #expect(status.arguments.last?.object?["tcUrl"]?.string == "rtmp://other/ingest")
        #expect(client.session.isPublishing)
        var legacy = try RTMPTestClient.publishing()
        let count = legacy.messages.count
        let isLegacyAsked = legacy.session.requestReconnect(to: nil, description: "The server is restarted.")
        #expect(!isLegacyAsked)
        try legacy.collect()
        #expect(legacy.messages.count == count)
    }

    // MARK: Metadata

    private func data(_ values: [AMF0Value], type: RTMPMessageType = .data) -> RTMPMessage {
        RTMPMessage(type: type, streamID: 1, payload: (type == .data ? [] : [0]) + AMF0Writer.bytes(values))
    }

    @Test("metadata is reported when it changes, in each of its forms")
    func metadata() throws {
        var client = try RTMPTestClient.publishing()
        let object: AMF0Object = [
            "width": .number(1_280), "height": .number(720), "framerate": .number(29.97),
            "videocodecid": .number(Double(FourCC.hevc.rawValue)), "stereo": .boolean(true), "encoder": .string("e"),
            "videoTrackIdInfoMap": .object(["1": .object(["width": .number(640)]), "x": .object([:])]),
        ]
        try client.send(data([.string("@setDataFrame"), .string("onMetaData"), .ecmaArray(object)]))
        try client.send(data([.string("onMetaData"), .object(object)]))
        try client.send(data([.string("onMetaData"), .object(object)], type: .dataWithFormat))
        let reports = client.events.compactMap { if case .metadata(let metadata) = $0 { metadata } else { nil } }
        #expect(reports.count == 1)
        let metadata = try #require(reports.first)
        #expect(metadata.videoTracks[0]?.width == 1_280 && metadata.videoTracks[0]?.codec == .hevc)
        #expect(metadata.videoTracks[1]?.width == 640 && metadata.videoTracks.count == 2)
        #expect(metadata.audioTracks[0]?.channels == 2 && metadata.encoder == "e")
    }

    @Test("other data is ignored, and malformed metadata is reported once")
    func otherData() throws {
        var client = try RTMPTestClient.publishing()
        for name in ["onTextData", "onCaptionInfo", "onCuePoint", "onFI", "additionalMedia"] {
            try client.send(data([.string(name), .object(["text": .string("x")])]))
        }
        try client.send(data([.number(1)]))
        try client.send(data([]))
        #expect(client.warnings.isEmpty)
        for _ in 0..<2 {
            let payload = [2, 0, 10] + Array("onMetaData".utf8) + [3, 0]
            try client.send(RTMPMessage(type: .data, streamID: 1, payload: payload))
        }
        #expect(client.warnings == [.malformedMetadata])
        #expect(client.session.isPublishing)
    }

    @Test("an aggregate message contains media with relative timestamps")
    func aggregate() throws {
        func part(_ type: UInt8, _ timestamp: UInt8, _ data: [UInt8]) -> [UInt8] {
            [type, 0, 0, UInt8(data.count), 0, 0, timestamp, 0, 0, 0, 1] + data + [0, 0, 0, UInt8(data.count + 11)]
        }
        var client = try RTMPTestClient.publishing()
        let payload =
            part(9, 100, Media.h264Configuration) + part(9, 100, Media.h264([Media.idr], isKeyFrame: true))
            + part(9, 140, Media.h264([Media.slice], isKeyFrame: false))
        try client.sendMedia(.aggregate, payload + [9, 0], timestamp: 1_000)
        #expect(client.accessUnits.map(\.decodingTime) == [.milliseconds(1_000), .milliseconds(1_040)])
    }

    // MARK: Connection

    @Test("received bytes are acknowledged when the client's window is full")
    func acknowledgement() throws {
        var client = try RTMPTestClient.publishing()
        try client.send(RTMPMessage(type: .windowAcknowledgementSize, payload: [0, 0, 0x10, 0]), chunkStream: 2)
        let before = client.session.statistics.receivedBytes
        try client.sendMedia(.audio, [UInt8](repeating: 0, count: 5_000))
        let acknowledged = client.messages.last { $0.type == .acknowledgement }
        let total = client.session.statistics.receivedBytes
        #expect(total > before + 5_000)
        #expect(acknowledged?.payload == [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: total >> $0) })
    }

    @Test("a ping is answered with its time")
    func ping() throws {
        var client = try RTMPTestClient.connected()
        try client.send(RTMPMessage(type: .userControl, payload: [0, 6, 1, 2, 3, 4]), chunkStream: 2)
        #expect(client.messages.last?.payload == [0, 7, 1, 2, 3, 4])
    }

    @Test("a client that never reads its responses is disconnected")
    func unreadOutput() throws {
        var session = RTMPServerSession(seed: 1, at: at(0))
        var bytes = RTMPTestClient.handshake
        RTMPChunkWriter().write(
            RTMPMessage(type: .command, payload: RTMPCommand("connect", transaction: 1, [.object([:])]).payload),
            chunkStream: 3, into: &bytes)
        for _ in 0..<10_000 {
            RTMPChunkWriter().write(
                RTMPMessage(type: .userControl, payload: [0, 6, 0, 0, 0, 0]), chunkStream: 2, into: &bytes)
        }
        session.receive(bytes.span, at: at(0))
        var events: [RTMPServerEvent] = []
        while let event = session.poll() { events.append(event) }
        #expect(events.last == .closed(.outputNotRead(maximum: 64 * 1_024)))
        #expect(session.takeOutput().count < 66 * 1_024)
    }

    @Test("a client that does not publish in time is disconnected, whatever it sends")
    func setupTimeout() throws {
        for step in 0..<3 {
            var client = RTMPTestClient()
            if step > 0 { try client.send(RTMPTestClient.handshake) }
            if step > 1 { try client.connect() }
            #expect(client.session.deadline == at(15))
            client.now = at(14)
            try client.send([])
            client.session.advance(to: at(14.9))
            #expect(!client.session.isClosed)
            client.session.advance(to: at(15))
            try client.collect()
            #expect(client.error == .setupTimeout(seconds: 15))
        }
    }

    @Test("a publisher that is silent is disconnected, and one that sends is not")
    func silence() throws {
        var client = try RTMPTestClient.publishing()
        client.now = at(20)
        try client.sendMedia(.audio, Media.aacConfiguration)
        #expect(client.session.deadline == at(50))
        client.session.advance(to: at(49))
        #expect(client.session.isPublishing)
        client.session.advance(to: at(50))
        try client.collect()
        #expect(client.events.suffix(2) == [.unpublished, .closed(.silent(seconds: 30))])
    }

    @Test("a driver that decides slowly does not cost the client its connection")
    func slowDecision() throws {
        var client = try RTMPTestClient.connected()
        try client.publish()
        #expect(client.session.deadline == nil)
        client.session.advance(to: at(100))
        client.session.acceptPublishing(at: at(100))
        #expect(client.session.deadline == at(130))
    }

    @Test("a violation of the protocol ends the stream with an error that the client receives")
    func violation() throws {
        var client = try RTMPTestClient.publishing()
        try client.send([0x84, 0, 0, 0, 9])
        #expect(client.error == .missingHeader(chunkStream: 4))
        #expect(client.events.dropLast().last == .unpublished)
        #expect(try client.statusCodes().last == "NetConnection.Connect.Closed")
    }

    @Test("garbage after the handshake is answered with an end, and before it with nothing")
    func garbage() throws {
        var client = RTMPTestClient()
        try client.send(Array("GET / HTTP/1.1\r\n".utf8))
        #expect(client.error == .notRTMP(firstByte: 0x47))
        #expect(client.messages.isEmpty)
    }
}
