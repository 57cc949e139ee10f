extension MediaDescription {
    /// Reads an `a=` line.
    ///
    /// Unreadable lines are ignored in general, because peers write attributes of later RFCs and drafts.
    ///
    /// - Parameters:
    ///   - attribute: The line after `a=`.
    ///   - name: The part before the colon, without spaces around it.
    ///   - value: The part after the colon, without spaces around it; nil if there is no colon.
    /// - Returns: False if the line is malformed and the section cannot be negotiated without it.
    mutating func read(attribute: SDPText, name: SDPText, value: SDPText?) -> Bool {
        guard let value else {
            readFlag(name)
            return true
        }
        switch name.count {
        case 3 where name.matches("mid"):
            guard let mid = value.token else { return false }
            self.mid = mid
        case 5 where name.matches("setup"):
            guard let role = SetupRole(rawValue: value.string) else { return false }
            setup = role
        case 6 where name.matches("rtpmap"):
            guard let map = RTPMap(parsing: value) else { return false }
            rtpMaps.append(map)
        case 9 where name.matches("candidate"):
            candidates.append(attribute.string)
        default:
            readTransport(name, value)
            readFormat(name, value)
            readSource(name, value)
        }
        return true
    }

    /// Reads an attribute without a value.
    private mutating func readFlag(_ name: SDPText) {
        if let direction = MediaDirection(rawValue: name.string) {
            self.direction = direction
        } else if name.matches("bundle-only") {
            isBundleOnly = true
        } else if name.matches("rtcp-mux") {
            multiplexesRTCP = true
        } else if name.matches("rtcp-mux-only") {
            multiplexesRTCP = true
            requiresRTCPMultiplexing = true
        } else if name.matches("rtcp-rsize") {
            allowsReducedSizeRTCP = true
        } else if name.matches("end-of-candidates") {
            hasEndOfCandidates = true
        }
    }

    /// Reads an attribute of ICE, DTLS or SCTP.
    private mutating func readTransport(_ name: SDPText, _ value: SDPText) {
        if name.matches("ice-ufrag") {
            iceUfrag = value.token
        } else if name.matches("ice-pwd") {
            icePwd = value.token
        } else if name.matches("ice-options") {
            iceOptions = value.pieces().map(\.string)
        } else if name.matches("fingerprint") {
            fingerprints.append(FingerprintAttribute(parsing: value))
        } else if name.matches("sctp-port") {
            sctpPort = value.decimal()
        }
    }

    /// Reads an attribute of formats.
    private mutating func readFormat(_ name: SDPText, _ value: SDPText) {
        if name.matches("fmtp") {
            let (target, parameters) = value.firstPiece
            guard let type = target.decimal(UInt8.self), type <= 127, let parameters else { return }
            formatParameters[type] = FormatParameters(parsing: parameters)
        } else if name.matches("rtcp-fb"), let line = FeedbackAttribute(parsing: value) {
            feedback.append(line)
        } else if name.matches("extmap"), let mapping = ExtensionMapping(parsing: value) {
            extensions.append(mapping)
        } else if name.matches("ptime") {
            packetTime = value.decimal()
        }
    }

    /// Reads an attribute of sources and streams.
    private mutating func readSource(_ name: SDPText, _ value: SDPText) {
        if name.matches("ssrc") {
            readSourceAttribute(value)
        } else if name.matches("ssrc-group"), let group = SourceGroup(parsing: value) {
            if sourceGroups.count < SDPLimits.sources { sourceGroups.append(group) }
        } else if name.matches("msid") {
            msid = MediaStreamIdentification(parsing: value) ?? msid
        } else if name.matches("rid"), let rid = RestrictionIdentifier(parsing: value) {
            // The first of repeated RIDs counts, because Firefox has written one twice.
            let isNew = !rids.contains { $0.id == rid.id && $0.direction == rid.direction }
            if isNew, rids.count < SDPLimits.sources { rids.append(rid) }
        } else if name.matches("simulcast"), let simulcast = SimulcastDescription(parsing: value) {
            self.simulcast = simulcast
        }
    }

    /// Reads an `a=ssrc` line.
    private mutating func readSourceAttribute(_ text: SDPText) {
        let (number, attribute) = text.firstPiece
        guard let ssrc = number.decimal(UInt32.self) else { return }
        let known = sources.firstIndex { $0.ssrc == ssrc }
        if known == nil {
            guard sources.count < SDPLimits.sources else { return }
            sources.append(SourceAttributes(ssrc: ssrc))
        }
        let index = known ?? sources.count - 1
        guard case let (name, value?)? = attribute?.divided(at: ":") else { return }
        if name.matches("cname") {
            sources[index].cname = value.trimmed.string
        } else if name.matches("msid") {
            sources[index].msid = MediaStreamIdentification(parsing: value)
        }
    }
}
