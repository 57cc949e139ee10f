import Foundation
import PCastCore
import Testing

@testable import PCastDatabase

@Suite("The outbox of uploads") struct UploadTests {
    private static let stream = StreamID("one")

    private static func began(_ stream: StreamID = stream) -> RecordChange {
        .recording(
            .began(RecordingRecord(stream: stream, application: Sample.application, began: Sample.time, epochs: 1)))
    }

    private static func segments(_ stream: StreamID = stream, files: Int = 2) -> RecordChange {
        .recording(
            .segments(
                (0..<files * 2).map { number in
                    SegmentRecord(
                        stream: stream, epoch: 0, rendition: "opus", number: Int64(number), file: number / 2,
                        offset: Int64(number % 2) * 1_000 + 500, length: 1_000, start: Sample.after(Int64(2 * number)),
                        duration: .seconds(2 as Int64), initialization: 0, discontinuity: 0, isGap: false)
                }))
    }

    private static func upload(_ number: Int = 0, of stream: StreamID = stream) -> UploadRecord {
        upload(of: RecordedFile(stream: stream, epoch: 0, rendition: "opus", number: number, size: 2_500))
    }

    private static func upload(of file: RecordedFile) -> UploadRecord {
        UploadRecord(file: file, bucket: "bucket", key: "live/\(file.stream)/\(file.number)")
    }

    @Test("uploads and their progress survive the end of the process") func lasting() async throws {
        try await withDirectory { path in
            let upload = Self.upload()
            do {
                let records = try Records.open(path)
                let change = RecordChange.recording(.upload(upload, at: Sample.after(10)))
                try await records.record([Self.began(), change, change])
                #expect(try await records.dueUploads(at: Sample.after(9), limit: 9).isEmpty)
                #expect(try await records.dueUploads(at: Sample.after(10), limit: 9) == [upload])
                try await records.note(.began(multipartID: "id"), of: upload.outboxKey)
                try await records.note(.retry(at: Sample.after(20), answer: "503"), of: upload.outboxKey)
                for tag in ["\"a\"", "b'\\,"] { try await records.note(.part(entityTag: tag), of: upload.outboxKey) }
                try await records.note(.retry(at: Sample.after(30), answer: "503"), of: upload.outboxKey)
            }
            let records = try Records.open(path)
            #expect(try await records.dueUploads(at: Sample.after(29), limit: 9).isEmpty)
            let due = try #require(try await records.dueUploads(at: Sample.after(30), limit: 9).first)
            #expect(due.multipartID == "id" && due.parts == ["\"a\"", "b'\\,"])
            // Progress resets the number of attempts.
            #expect(due.attempts == 1)
            try await records.note(.uploaded, of: upload.outboxKey)
            #expect(try await records.dueUploads(at: Sample.after(99), limit: 9).isEmpty)
            let uploaded = try await records.uploadedLocalFiles(limit: 9)
            #expect(uploaded.map(\.state) == [.uploaded] && uploaded.first?.multipartID == nil)
            try await records.note(.deletedLocally, of: upload.outboxKey)
            #expect(try await records.uploadedLocalFiles(limit: 9).isEmpty)
            let file = upload.file
            let stored = try await records.upload(
                of: file.stream, epoch: file.epoch, rendition: file.rendition, number: file.number)
            #expect(stored?.state == .uploaded && stored?.isLocal == false)
        }
    }

    @Test("a multipart upload that the object store has discarded begins again without parts") func discarded()
        async throws
    {
        let records = try Records.inMemory()
        try await records.record([Self.began(), .recording(.upload(Self.upload(), at: Sample.time))])
        let key = Self.upload().outboxKey
        try await records.note(.began(multipartID: "id"), of: key)
        try await records.note(.part(entityTag: "a"), of: key)
        try await records.note(.began(multipartID: nil), of: key)
        let upload = try #require(try await records.dueUploads(at: Sample.time, limit: 1).first)
        #expect(upload.multipartID == nil && upload.parts.isEmpty)
    }

    @Test("the deletion of a recording deletes each object, also one whose upload has only begun") func deletion()
        async throws
    {
        let records = try Records.inMemory()
        let uploads = (0..<3).map { Self.upload($0) }
        try await records.record(
            [Self.began(), Self.segments(files: 3)] + uploads.map { .recording(.upload($0, at: Sample.time)) })
        try await records.note(.uploaded, of: uploads[0].outboxKey)
        try await records.note(.began(multipartID: "id"), of: uploads[1].outboxKey)
        try await records.note(.failed(answer: "removed"), of: uploads[2].outboxKey)
        try await records.record([.recording(.deleted(Self.stream, at: Sample.after(5)))])
        let due = try await records.dueUploads(at: Sample.after(5), limit: 9)
        #expect(due.map(\.state) == [.deleting, .deleting, .deleting])
        #expect(due.map(\.multipartID) == [nil, "id", nil])
        // An upload that finishes now does not bring the object back.
        try await records.note(.uploaded, of: uploads[1].outboxKey)
        #expect(try await records.pendingUploadCount() == 3)
        for upload in due { try await records.note(.deletedObject, of: upload.outboxKey) }
        #expect(try await records.uploads(of: Self.stream).isEmpty)
        // A file of a deleted recording is not uploaded.
        try await records.record([.recording(.upload(Self.upload(9), at: Sample.time))])
        #expect(try await records.uploads(of: Self.stream).isEmpty)
    }

    @Test("files of recordings that a crash left open, or of those before uploads were configured, are added once")
    func missing() async throws {
        let records = try Records.inMemory()
        let (open, ended, deleted) = (StreamID("open"), StreamID("ended"), StreamID("deleted"))
        for stream in [open, ended, deleted] {
            try await records.record([Self.began(stream), Self.segments(stream)])
        }
        try await records.record([
            .recording(.upload(Self.upload(0, of: open), at: Sample.time)),
            .recording(.ended(ended, at: Sample.after(9), failure: nil, playlist: "/p")),
            .recording(.deleted(deleted, at: Sample.after(9))),
        ])
        for expected in [3, 0] {
            let count = try await records.addMissingUploads(at: Sample.time) { Self.upload(of: $0) }
            #expect(count == expected)
        }
        #expect(try await records.uploads(of: open).map(\.file.number) == [0, 1])
        #expect(try await records.uploads(of: ended).map(\.file.size) == [2_500, 2_500])
        #expect(try await records.uploads(of: deleted).isEmpty)
    }

    @Test("the delays of retries increase to five minutes and do not end") func delays() {
        let schedule = RetrySchedule.upload
        let waits = (0..<20).map { schedule.nextAttempt(afterAttempts: $0, at: Sample.time, random: 0) - Sample.time }
        #expect(waits.first == .seconds(1) && waits.last == .seconds(300))
        #expect(zip(waits, waits.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(schedule.nextAttempt(afterAttempts: 99, at: Sample.time, random: 0.5) - Sample.time == .seconds(330))
    }
}
