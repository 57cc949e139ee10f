package import PCastCore
package import PCastRTP

/// Pauses by the peer, and sender reports to it.
extension MediaSender {
    // MARK: Pauses

    /// Returns whether the peer has paused a track, whose packets are then not sent.
    package func isPaused(_ type: MediaType, layer: Int = 0) -> Bool {
        pauses.contains { $0.type == type && $0.layer == layer && $0.isPaused }
    }

    /// Whether all video layers are paused.
    var isVideoPaused: Bool { pauses.count { $0.type == .video && $0.isPaused } == layerCount }

    /// Returns the next pause or resume by the peer; nil if there is none.
    package mutating func pollPauseEvent() -> PauseEvent? { pauseEvents.isEmpty ? nil : pauseEvents.removeFirst() }

    /// Executes pauses to which other receivers have not objected, and begins probes that are due.
    package mutating func advance(to now: Instant) {
        if !pauses.isEmpty { changePauses { $0.advance(to: now) } }
        bandwidth.advance(to: now)
        if !pacer.isProbing { beginProbe(at: now) }
    }

    /// Receives the pause messages of the peer (RFC 7728).
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

    /// Changes the pause states and emits events for tracks that were paused or resumed by it.
    mutating func changePauses(_ change: (inout PauseState) -> Void) {
        for index in pauses.indices {
            let wasPaused = pauses[index].isPaused
            change(&pauses[index])
            guard pauses[index].isPaused != wasPaused else { continue }
            let (type, layer) = (pauses[index].type, pauses[index].layer)
            pauseEvents.append(wasPaused ? .resumed(type, layer: layer) : .paused(type, layer: layer))
            guard wasPaused else { continue }
            (type == .video ? self.layer(layer) : audio)?.pointee.restartsReports = true
        }
    }

    /// Writes the pause messages that are due.
    mutating func writePauses(into writer: inout RTCPWriter, hasReport: Bool, at now: Instant) {
        for index in pauses.indices {
            let track = pauses[index].type == .video ? layer(pauses[index].layer) : audio
            guard let last = track?.pointee.stream.lastSequenceNumber else { continue }
            while let message = pauses[index].poll(lastSequenceNumber: last, hasReport: hasReport, at: now) {
                writer.pauseResume(senderSSRC: reporterSSRC, message)
            }
        }
    }

    // MARK: RTCP output

    /// Sets the values that are sent with each sender report. They are sent at once if a value changed that says that
    /// media is withheld or reduced.
    package mutating func setPublisherReport(_ report: PublisherReport, at now: Instant) {
        let hasChanged =
            publisherReport.map {
                $0.isVideoCut != report.isVideoCut || $0.isVideoWithheld != report.isVideoWithheld
                    || $0.isAudioWithheld != report.isAudioWithheld
            } ?? true
        publisherReport = report
        if hasChanged { publisherReportDue = now }
    }

    /// The time at which reports, ``advance(to:)`` or sending must be called; nil if nothing is scheduled.
    package var deadline: Instant? {
        mutating get { Instant.earlier(unpacedDeadline, pacer.deadline) }
    }

    /// The time at which reports or ``advance(to:)`` must be called; nil if nothing is scheduled.
    package var unpacedDeadline: Instant? {
        mutating get { Instant.earlier(reportDeadline, bandwidth.deadline) }
    }

    /// The time at which a paced packet or a probe may be sent; nil if there is none.
    package var pacingDeadline: Instant? { mutating get { pacer.deadline } }

    /// Returns whether ``pollReports(through:into:wallTime:at:)`` has a report. It is called after packets were sent,
    /// which a report accompanies.
    package mutating func isReportDue(at now: Instant) -> Bool {
        if let due = video?.pointee.report.due, due <= now { return true }
        if let due = audio?.pointee.report.due, due <= now { return true }
        if let due = publisherReportDue, due <= now { return true }
        for layer in moreLayers { if let due = layer?.pointee.report.due, due <= now { return true } }
        for pause in pauses { if let due = pause.deadline, due <= now { return true } }
        return false
    }

    /// The time at which reports must be sent even if no packets are; nil if none is scheduled.
    package var reportDeadline: Instant? {
        mutating get {
            var deadline = Instant.earlier(video?.pointee.report.deadline, audio?.pointee.report.deadline)
            for layer in moreLayers { deadline = Instant.earlier(deadline, layer?.pointee.report.deadline) }
            deadline = Instant.earlier(deadline, publisherReportDue)
            for pause in pauses { deadline = Instant.earlier(deadline, pause.deadline) }
            return deadline
        }
    }

    /// Appends a datagram with the reports that are due. Returns true if the batch is full.
    package mutating func pollReports(
        through transport: inout SecureTransport, into batch: inout DatagramBatch, wallTime: WallTime,
        at now: Instant
    ) -> Bool {
        guard transport.isConnected, let path = transport.path, isReportDue(at: now) else { return false }
        guard let buffer = batch.reserve() else { return true }
        var writer = RTCPWriter(buffer)
        if let report = video?.pointee.report.poll(at: now, wall: wallTime) { write(report, into: &writer) }
        for layer in moreLayers {
            if let report = layer?.pointee.report.poll(at: now, wall: wallTime) { write(report, into: &writer) }
        }
        if let report = audio?.pointee.report.poll(at: now, wall: wallTime) { write(report, into: &writer) }
        if !pauses.isEmpty || publisherReport != nil {
            let hasReport = writer.count > 0
            // A compound packet begins with a report, which may be empty (RFC 3550, section 6.1).
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
        let length = transport.protectRTCP(buffer, length: writer.count)
        if length > 0 { batch.commit(length: length, to: path) }
        return false
    }

    /// Writes the report of the publisher about itself, if it is due or accompanies a sender report.
    mutating func writePublisherReport(into writer: inout RTCPWriter, hasReport: Bool, at now: Instant) {
        let isDue = publisherReportDue.map { now >= $0 } ?? false
        guard let report = publisherReport, hasReport || isDue else { return }
        writer.publisherReport(ssrc: reporterSSRC, report)
        publisherReportDue = nil
    }

    /// Writes a sender report and a CNAME.
    func write(_ report: SenderInformation, into writer: inout RTCPWriter) {
        writer.senderReport(report)
        writer.sourceDescription(ssrc: report.ssrc, cname: cname.span)
    }
}
