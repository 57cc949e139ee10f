public import PCastMedia
public import PCastRTP

/// Pauses that the peer asks for, and the reports that it gets.
extension MediaSender {
    // MARK: Pauses

    /// Whether the peer has paused a track: what is made of it then is not to be sent.
    public func isPaused(_ type: MediaType, layer: Int = 0) -> Bool {
        pauses.contains { $0.type == type && $0.layer == layer && $0.isPaused }
    }

    /// Whether nothing is sent of the video.
    var isVideoPaused: Bool { pauses.count { $0.type == .video && $0.isPaused } == layerCount }

    /// What the peer had tracks do; nil when nothing more.
    public mutating func pollPauseEvent() -> PauseEvent? { pauseEvents.isEmpty ? nil : pauseEvents.removeFirst() }

    /// Time for pauses that others could have objected to, and for probes.
    public mutating func advance(to now: Instant) {
        if !pauses.isEmpty { changePauses { $0.advance(to: now) } }
        bandwidth.advance(to: now)
        if !pacer.isProbing { beginProbe(at: now) }
    }

    mutating func read(_ packet: PauseResume, in datagram: Span<UInt8>, at now: Instant) {
        var reader = PauseResume.Reader(packet)
        let roundTrip = roundTrip
        while let message = reader.next(in: datagram) {
            changePauses { state in
                guard state.ssrc == message.ssrc else { return }
                state.receive(message, from: packet.senderSSRC, roundTrip: roundTrip, at: now)
            }
        }
    }

    /// Tells of what is paused or plays by it.
    mutating func changePauses(_ change: (inout PauseState) -> Void) {
        for index in pauses.indices {
            let wasPaused = pauses[index].isPaused
            change(&pauses[index])
            guard pauses[index].isPaused != wasPaused else { continue }
            let (type, layer) = (pauses[index].type, pauses[index].layer)
            pauseEvents.append(wasPaused ? .resumed(type, layer: layer) : .paused(type, layer: layer))
            guard wasPaused else { continue }
            (type == .video ? self.layer(layer) : audio)?.pointee.reportsAnew = true
        }
    }

    /// The messages that are due, behind a report.
    mutating func writePauses(into writer: inout RTCPWriter, hasReport: Bool, at now: Instant) {
        for index in pauses.indices {
            let track = pauses[index].type == .video ? layer(pauses[index].layer) : audio
            guard let last = track?.pointee.stream.lastSequenceNumber else { continue }
            while let message = pauses[index].poll(lastSequenceNumber: last, hasReport: hasReport, at: now) {
                writer.pauseResume(senderSSRC: reporterSSRC, message)
            }
        }
    }

    // MARK: Control out

    /// What to say of ourselves from now on with each sender report; at once where what is withheld or cut has changed.
    public mutating func setPublisherReport(_ report: PublisherReport, at now: Instant) {
        let isNews =
            publisherReport.map {
                $0.isVideoCut != report.isVideoCut || $0.isVideoWithheld != report.isVideoWithheld
                    || $0.isAudioWithheld != report.isAudioWithheld
            } ?? true
        publisherReport = report
        if isNews { publisherReportDue = now }
    }

    /// When `poll`, `advance` or `send` want to be called.
    public var deadline: Instant? {
        mutating get { Instant.earlier(unpacedDeadline, pacer.deadline) }
    }

    /// When `poll` or `advance` want to be called.
    public var unpacedDeadline: Instant? {
        mutating get { Instant.earlier(reportDeadline, bandwidth.deadline) }
    }

    /// When a packet that was held back may leave, or a probe goes on; nil where neither is.
    public var pacingDeadline: Instant? { mutating get { pacer.deadline } }

    /// Whether `pollReports` has anything to write; asked whenever packets were sent, which a report goes with.
    public mutating func isReportDue(at now: Instant) -> Bool {
        if let due = video?.pointee.report.due, due <= now { return true }
        if let due = audio?.pointee.report.due, due <= now { return true }
        if let due = publisherReportDue, due <= now { return true }
        for layer in moreLayers { if let due = layer?.pointee.report.due, due <= now { return true } }
        for pause in pauses { if let due = pause.deadline, due <= now { return true } }
        return false
    }

    /// When reports are to be written even if no packets leave.
    public var reportDeadline: Instant? {
        mutating get {
            var deadline = Instant.earlier(video?.pointee.report.deadline, audio?.pointee.report.deadline)
            for layer in moreLayers { deadline = Instant.earlier(deadline, layer?.pointee.report.deadline) }
            deadline = Instant.earlier(deadline, publisherReportDue)
            for pause in pauses { deadline = Instant.earlier(deadline, pause.deadline) }
            return deadline
        }
    }

    /// Writes the sender reports that are due into one datagram; true when there was no room for it.
    public mutating func pollReports(
        through transport: inout SecureTransport, into batch: inout DatagramBatch, wallTime: WallTime,
        at now: Instant
    ) -> Bool {
        guard transport.isConnected, let path = transport.path, isReportDue(at: now) else { return false }
        guard let room = batch.reserve() else { return true }
        var writer = RTCPWriter(room)
        if let report = video?.pointee.report.poll(at: now, wall: wallTime) { write(report, into: &writer) }
        for layer in moreLayers {
            if let report = layer?.pointee.report.poll(at: now, wall: wallTime) { write(report, into: &writer) }
        }
        if let report = audio?.pointee.report.poll(at: now, wall: wallTime) { write(report, into: &writer) }
        if !pauses.isEmpty || publisherReport != nil {
            let hasReport = writer.count > 0
            // A datagram begins with a report, be it an empty one (RFC 3550, section 6.1).
            if !hasReport { writer.receiverReport(ssrc: reporterSSRC) }
            let head = writer.count
            writePauses(into: &writer, hasReport: hasReport, at: now)
            writePublisherReport(into: &writer, hasReport: hasReport, at: now)
            if !hasReport, writer.count == head { return false }
        }
        guard writer.count > 0 else { return false }
        if let reference = referenceTime {
            let delay = ExtendedReport.DelaySinceReport(
                ssrc: reference.ssrc, lastReport: reference.compact,
                delay: CompactTime(now - reference.arrival).rawValue)
            writer.delaySinceLastReport(ssrc: reporterSSRC, delay)
            referenceTime = nil
        }
        let length = transport.protectRTCP(room, length: writer.count)
        if length > 0 { batch.commit(length: length, to: path) }
        return false
    }

    mutating func writePublisherReport(into writer: inout RTCPWriter, hasReport: Bool, at now: Instant) {
        let isDue = publisherReportDue.map { now >= $0 } ?? false
        guard let report = publisherReport, hasReport || isDue else { return }
        writer.publisherReport(ssrc: reporterSSRC, report)
        publisherReportDue = nil
    }

    func write(_ report: SenderInformation, into writer: inout RTCPWriter) {
        writer.senderReport(report)
        writer.sourceDescription(ssrc: report.ssrc, cname: cname.span)
    }
}
