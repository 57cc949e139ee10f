import Glibc

/// Bytes that end where readable memory ends. Reading one byte too far ends the test.
final class GuardPages {
    let bytes: UnsafeRawBufferPointer
    private let mapping: UnsafeMutableRawPointer
    private let length: Int

    init(_ content: [UInt8]) {
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        let room = (content.count + page - 1) / page * page
        length = room + page
        mapping = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        precondition(mapping != MAP_FAILED)
        let start = mapping + (room - content.count)
        content.withUnsafeBytes { start.copyMemory(from: $0.baseAddress!, byteCount: content.count) }
        precondition(mprotect(mapping + room, page, PROT_NONE) == 0)
        bytes = UnsafeRawBufferPointer(start: start, count: content.count)
    }

    deinit { munmap(mapping, length) }
}
