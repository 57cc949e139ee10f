/// Writes a session description line by line.
struct SessionDescriptionWriter {
    private var text = ""

    /// Returns a description as text.
    static func text(of description: SessionDescription) -> String {
        var writer = SessionDescriptionWriter()
        writer.text.reserveCapacity(4_096)
        writer.write(session: description)
        for media in description.media { writer.write(media: media) }
        return writer.text
    }

    /// Writes a line with its ending.
    private mutating func line(_ line: String) {
        text += line
        text += "\r\n"
    }

    /// Writes an attribute unless its value is nil.
    private mutating func line(_ name: String, _ value: String?) {
        if let value { line("a=\(name):\(value)") }
    }

    /// Writes an attribute without a value, if it is set.
    private mutating func flag(_ name: String, _ isSet: Bool) {
        if isSet { line("a=\(name)") }
    }

    /// Writes the session-level lines.
    private mutating func write(session: SessionDescription) {
        line("v=0")
        line("o=\(session.origin.text)")
        // An empty name is not allowed (RFC 8866, section 5.3).
        line("s=\(session.name.isEmpty ? "-" : session.name)")
        line("t=0 0")
        for mids in [session.bundle ?? []] + session.furtherBundles where !mids.isEmpty {
            line("group", (["BUNDLE"] + mids).joined(separator: " "))
        }
        flag("ice-lite", session.isICELite)
        flag("extmap-allow-mixed", session.allowsMixedExtensions)
        line("a=msid-semantic: WMS *")
    }

    private mutating func write(media: MediaDescription) {
        let formats = media.carriesRTP ? media.payloadTypes.map { String($0) } : media.otherFormats
        // An `m=` line needs at least one format (RFC 8866, section 9), whose value has no meaning in a rejected
        // section.
        let format = formats.isEmpty ? "0" : formats.joined(separator: " ")
        line("m=\(media.kind.name) \(media.port) \(media.transportProtocol) \(format)")
        line("c=IN IP4 0.0.0.0")
        if let kilobits = media.bandwidth { line("b=AS:\(kilobits)") }
        writeTransport(of: media)
        line("mid", media.mid)
        guard media.carriesRTP else {
            line("sctp-port", media.sctpPort.map { String($0) })
            writeCandidates(of: media)
            return
        }
        for mapping in media.extensions { line("extmap", mapping.text) }
        line("a=\(media.direction.rawValue)")
        line("msid", media.msid?.text)
        flag("rtcp-mux", media.multiplexesRTCP)
        flag("rtcp-mux-only", media.requiresRTCPMultiplexing)
        flag("rtcp-rsize", media.allowsReducedSizeRTCP)
        writeFormats(of: media)
        writeSources(of: media)
        writeCandidates(of: media)
    }

    private mutating func writeTransport(of media: MediaDescription) {
        flag("bundle-only", media.isBundleOnly)
        line("ice-ufrag", media.iceUfrag)
        line("ice-pwd", media.icePwd)
        if !media.iceOptions.isEmpty { line("ice-options", media.iceOptions.joined(separator: " ")) }
        for fingerprint in media.fingerprints { line("fingerprint", fingerprint.text) }
        line("setup", media.setup?.rawValue)
    }

    private mutating func writeFormats(of media: MediaDescription) {
        for type in media.payloadTypes {
            for map in media.rtpMaps where map.payloadType == type { line("rtpmap", map.text) }
            for feedback in media.feedback where feedback.payloadType == type { line("rtcp-fb", feedback.text) }
            let parameters = media.formatParameters[type].flatMap { $0.isEmpty ? nil : $0 }
            line("fmtp", parameters.map { "\(type) \($0.text)" })
        }
        for feedback in media.feedback where feedback.payloadType == nil { line("rtcp-fb", feedback.text) }
        line("ptime", media.packetTime.map { String($0) })
    }

    private mutating func writeSources(of media: MediaDescription) {
        for rid in media.rids { line("rid", rid.text) }
        line("simulcast", media.simulcast?.text)
        for group in media.sourceGroups { line("ssrc-group", group.text) }
        for source in media.sources {
            line("ssrc", source.cname.map { "\(source.ssrc) cname:\($0)" })
            line("ssrc", source.msid.map { "\(source.ssrc) msid:\($0.text)" })
        }
    }

    private mutating func writeCandidates(of media: MediaDescription) {
        for candidate in media.candidates { line("a=\(candidate)") }
        flag("end-of-candidates", media.hasEndOfCandidates)
    }
}
