/// Descriptions of Chromium 156, or of aiortc 1.16 in answer to it.
extension SDPSamples {
    static let chromiumViewerAnswer = """
        v=0
        o=- 4004208706 4004208706 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=msid-semantic:WMS *
        m=video 48791 UDP/TLS/RTP/SAVPF 96 97 102 103 108 109
        c=IN IP4 127.0.1.1
        a=sendonly
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=mid:0
        a=msid:bd4209cc-5cc0-4ab1-96b9-db2050139033 fcf16e67-ce56-466a-870e-9789c991ef2d
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc-group:FID 3803619734 1886938653
        a=ssrc:3803619734 cname:36c4d90d-ff27-4398-8aaf-3657ba9ba70f
        a=ssrc:1886938653 cname:36c4d90d-ff27-4398-8aaf-3657ba9ba70f
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 goog-remb
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rtpmap:102 H264/90000
        a=rtcp-fb:102 nack
        a=rtcp-fb:102 nack pli
        a=rtcp-fb:102 goog-remb
        a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:103 rtx/90000
        a=fmtp:103 apt=102
        a=rtpmap:108 H264/90000
        a=rtcp-fb:108 nack
        a=rtcp-fb:108 nack pli
        a=rtcp-fb:108 goog-remb
        a=fmtp:108 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:109 rtx/90000
        a=fmtp:109 apt=108
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 48791 typ host
        a=end-of-candidates
        a=ice-ufrag:4FEE
        a=ice-pwd:1u7uHw64oGjh08Bm1VvPrA
        a=fingerprint:sha-256 DA:82:D4:8D:E8:2D:65:CA:E2:35:E3:C9:6F:FB:B2:04:4D:B2:B7:B1:6C:9F:B5:3F:0C:CC:D4:1\
        0:4A:50:EF:9A
        a=fingerprint:sha-384 2F:C3:10:0F:F6:D1:46:E8:F4:3D:ED:C8:33:76:6D:2B:66:21:D8:B0:00:2D:F4:49:60:33:2A:2\
        D:FF:4B:4A:4D:35:E1:80:18:0A:94:2A:64:FD:66:09:76:10:79:B9:D5
        a=fingerprint:sha-512 AB:DD:B3:A8:39:7A:28:C9:E6:34:0C:BA:97:93:A4:77:B9:21:14:91:73:59:01:56:4E:C4:4B:6\
        C:27:1E:07:48:1A:03:93:58:E0:87:4A:E1:5B:39:50:14:E4:66:5B:C1:50:23:57:C4:CC:B6:51:20:C1:59:22:5E:20:94:\
        AE:E5
        a=setup:active
        m=audio 48791 UDP/TLS/RTP/SAVPF 111 9 0 8
        c=IN IP4 127.0.1.1
        a=sendonly
        a=extmap:14 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=mid:1
        a=msid:bd4209cc-5cc0-4ab1-96b9-db2050139033 de15dc6d-3cf4-4851-a718-1739b1f3502a
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:3637107274 cname:36c4d90d-ff27-4398-8aaf-3657ba9ba70f
        a=rtpmap:111 opus/48000/2
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 48791 typ host
        a=end-of-candidates
        a=ice-ufrag:4FEE
        a=ice-pwd:1u7uHw64oGjh08Bm1VvPrA
        a=fingerprint:sha-256 DA:82:D4:8D:E8:2D:65:CA:E2:35:E3:C9:6F:FB:B2:04:4D:B2:B7:B1:6C:9F:B5:3F:0C:CC:D4:1\
        0:4A:50:EF:9A
        a=fingerprint:sha-384 2F:C3:10:0F:F6:D1:46:E8:F4:3D:ED:C8:33:76:6D:2B:66:21:D8:B0:00:2D:F4:49:60:33:2A:2\
        D:FF:4B:4A:4D:35:E1:80:18:0A:94:2A:64:FD:66:09:76:10:79:B9:D5
        a=fingerprint:sha-512 AB:DD:B3:A8:39:7A:28:C9:E6:34:0C:BA:97:93:A4:77:B9:21:14:91:73:59:01:56:4E:C4:4B:6\
        C:27:1E:07:48:1A:03:93:58:E0:87:4A:E1:5B:39:50:14:E4:66:5B:C1:50:23:57:C4:CC:B6:51:20:C1:59:22:5E:20:94:\
        AE:E5
        a=setup:active
        """

    static let chromiumViewerOffer = """
        v=0
        o=- 7948090450375894073 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS
        m=video 58722 UDP/TLS/RTP/SAVPF 96 97 98 99 100 101 35 36 37 38 102 103 104 107 108 109 114 115 116 117 \
        39 40 41 42 43 44 45 46 47 48 118 119 120 49
        c=IN IP4 127.0.0.1
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:1394993194 1 udp 2122260223 127.0.0.1 58722 typ host generation 0 network-id 1 network-cost \
        50
        a=candidate:4138629156 1 udp 2122194687 127.0.1.1 52649 typ host generation 0 network-id 2
        a=candidate:770312882 1 tcp 1518280447 127.0.0.1 9 typ host tcptype active generation 0 network-id 1 net\
        work-cost 50
        a=candidate:2288097980 1 tcp 1518214911 127.0.1.1 9 typ host tcptype active generation 0 network-id 2
        a=ice-ufrag:dWFl
        a=ice-pwd:4Pi1b8ieWhVnybtxxRF6m0p7
        a=ice-options:trickle
        a=fingerprint:sha-256 60:21:E4:2F:3A:49:69:10:46:F0:4F:F7:7A:8F:26:84:37:10:E6:D0:EC:7A:59:D2:FF:57:8B:D\
        0:E8:69:84:C0
        a=setup:actpass
        a=mid:0
        a=extmap:1 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:3 urn:3gpp:video-orientation
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type
        a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/video-timing
        a=extmap:8 http://www.webrtc.org/experiments/rtp-hdrext/color-space
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
        a=recvonly
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 transport-cc
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rtpmap:98 VP9/90000
        a=rtcp-fb:98 goog-remb
        a=rtcp-fb:98 transport-cc
        a=rtcp-fb:98 ccm fir
        a=rtcp-fb:98 nack
        a=rtcp-fb:98 nack pli
        a=fmtp:98 profile-id=0
        a=rtpmap:99 rtx/90000
        a=fmtp:99 apt=98
        a=rtpmap:100 VP9/90000
        a=rtcp-fb:100 goog-remb
        a=rtcp-fb:100 transport-cc
        a=rtcp-fb:100 ccm fir
        a=rtcp-fb:100 nack
        a=rtcp-fb:100 nack pli
        a=fmtp:100 profile-id=2
        a=rtpmap:101 rtx/90000
        a=fmtp:101 apt=100
        a=rtpmap:35 VP9/90000
        a=rtcp-fb:35 goog-remb
        a=rtcp-fb:35 transport-cc
        a=rtcp-fb:35 ccm fir
        a=rtcp-fb:35 nack
        a=rtcp-fb:35 nack pli
        a=fmtp:35 profile-id=1
        a=rtpmap:36 rtx/90000
        a=fmtp:36 apt=35
        a=rtpmap:37 VP9/90000
        a=rtcp-fb:37 goog-remb
        a=rtcp-fb:37 transport-cc
        a=rtcp-fb:37 ccm fir
        a=rtcp-fb:37 nack
        a=rtcp-fb:37 nack pli
        a=fmtp:37 profile-id=3
        a=rtpmap:38 rtx/90000
        a=fmtp:38 apt=37
        a=rtpmap:102 H264/90000
        a=rtcp-fb:102 goog-remb
        a=rtcp-fb:102 transport-cc
        a=rtcp-fb:102 ccm fir
        a=rtcp-fb:102 nack
        a=rtcp-fb:102 nack pli
        a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:103 rtx/90000
        a=fmtp:103 apt=102
        a=rtpmap:104 H264/90000
        a=rtcp-fb:104 goog-remb
        a=rtcp-fb:104 transport-cc
        a=rtcp-fb:104 ccm fir
        a=rtcp-fb:104 nack
        a=rtcp-fb:104 nack pli
        a=fmtp:104 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f
        a=rtpmap:107 rtx/90000
        a=fmtp:107 apt=104
        a=rtpmap:108 H264/90000
        a=rtcp-fb:108 goog-remb
        a=rtcp-fb:108 transport-cc
        a=rtcp-fb:108 ccm fir
        a=rtcp-fb:108 nack
        a=rtcp-fb:108 nack pli
        a=fmtp:108 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:109 rtx/90000
        a=fmtp:109 apt=108
        a=rtpmap:114 H264/90000
        a=rtcp-fb:114 goog-remb
        a=rtcp-fb:114 transport-cc
        a=rtcp-fb:114 ccm fir
        a=rtcp-fb:114 nack
        a=rtcp-fb:114 nack pli
        a=fmtp:114 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f
        a=rtpmap:115 rtx/90000
        a=fmtp:115 apt=114
        a=rtpmap:116 H264/90000
        a=rtcp-fb:116 goog-remb
        a=rtcp-fb:116 transport-cc
        a=rtcp-fb:116 ccm fir
        a=rtcp-fb:116 nack
        a=rtcp-fb:116 nack pli
        a=fmtp:116 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f
        a=rtpmap:117 rtx/90000
        a=fmtp:117 apt=116
        a=rtpmap:39 H264/90000
        a=rtcp-fb:39 goog-remb
        a=rtcp-fb:39 transport-cc
        a=rtcp-fb:39 ccm fir
        a=rtcp-fb:39 nack
        a=rtcp-fb:39 nack pli
        a=fmtp:39 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=4d001f
        a=rtpmap:40 rtx/90000
        a=fmtp:40 apt=39
        a=rtpmap:41 H264/90000
        a=rtcp-fb:41 goog-remb
        a=rtcp-fb:41 transport-cc
        a=rtcp-fb:41 ccm fir
        a=rtcp-fb:41 nack
        a=rtcp-fb:41 nack pli
        a=fmtp:41 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=f4001f
        a=rtpmap:42 rtx/90000
        a=fmtp:42 apt=41
        a=rtpmap:43 H264/90000
        a=rtcp-fb:43 goog-remb
        a=rtcp-fb:43 transport-cc
        a=rtcp-fb:43 ccm fir
        a=rtcp-fb:43 nack
        a=rtcp-fb:43 nack pli
        a=fmtp:43 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=f4001f
        a=rtpmap:44 rtx/90000
        a=fmtp:44 apt=43
        a=rtpmap:45 AV1/90000
        a=rtcp-fb:45 goog-remb
        a=rtcp-fb:45 transport-cc
        a=rtcp-fb:45 ccm fir
        a=rtcp-fb:45 nack
        a=rtcp-fb:45 nack pli
        a=fmtp:45 level-idx=5;profile=0;tier=0
        a=rtpmap:46 rtx/90000
        a=fmtp:46 apt=45
        a=rtpmap:47 AV1/90000
        a=rtcp-fb:47 goog-remb
        a=rtcp-fb:47 transport-cc
        a=rtcp-fb:47 ccm fir
        a=rtcp-fb:47 nack
        a=rtcp-fb:47 nack pli
        a=fmtp:47 level-idx=5;profile=1;tier=0
        a=rtpmap:48 rtx/90000
        a=fmtp:48 apt=47
        a=rtpmap:118 red/90000
        a=rtpmap:119 rtx/90000
        a=fmtp:119 apt=118
        a=rtpmap:120 ulpfec/90000
        a=rtpmap:49 flexfec-03/90000
        a=rtcp-fb:49 goog-remb
        a=rtcp-fb:49 transport-cc
        a=fmtp:49 repair-window=10000000
        m=audio 50629 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
        c=IN IP4 127.0.0.1
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:1394993194 1 udp 2122260223 127.0.0.1 50629 typ host generation 0 network-id 1 network-cost \
        50
        a=candidate:4138629156 1 udp 2122194687 127.0.1.1 43907 typ host generation 0 network-id 2
        a=candidate:770312882 1 tcp 1518280447 127.0.0.1 9 typ host tcptype active generation 0 network-id 1 net\
        work-cost 50
        a=candidate:2288097980 1 tcp 1518214911 127.0.1.1 9 typ host tcptype active generation 0 network-id 2
        a=ice-ufrag:dWFl
        a=ice-pwd:4Pi1b8ieWhVnybtxxRF6m0p7
        a=ice-options:trickle
        a=fingerprint:sha-256 60:21:E4:2F:3A:49:69:10:46:F0:4F:F7:7A:8F:26:84:37:10:E6:D0:EC:7A:59:D2:FF:57:8B:D\
        0:E8:69:84:C0
        a=setup:actpass
        a=mid:1
        a=extmap:14 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=recvonly
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:63 red/48000/2
        a=fmtp:63 111/111
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:13 CN/8000
        a=rtpmap:110 telephone-event/48000
        a=rtpmap:126 telephone-event/8000
        """

    static let chromiumPublisherAnswer = """
        v=0
        o=- 4004208710 4004208710 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=msid-semantic:WMS *
        m=video 57518 UDP/TLS/RTP/SAVPF 96 97
        c=IN IP4 127.0.1.1
        a=recvonly
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=mid:0
        a=msid:88eae77a-4b0a-4c05-8669-c974ed4798a4 637203fb-1881-4ee2-a8c0-8498f6eaebd2
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc-group:FID 1793399151 4083012020
        a=ssrc:1793399151 cname:39e05ae4-9219-4ae0-b29e-032d57c56b56
        a=ssrc:4083012020 cname:39e05ae4-9219-4ae0-b29e-032d57c56b56
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 goog-remb
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 57518 typ host
        a=end-of-candidates
        a=ice-ufrag:lSmJ
        a=ice-pwd:jFwslbdBmrlm52f8bn6PrB
        a=fingerprint:sha-256 A7:C1:09:9D:5A:E3:8A:CC:DA:FB:B4:03:B0:2C:AA:76:48:06:31:5F:2E:27:D0:D9:8A:57:36:4\
        4:15:9E:C4:5D
        a=fingerprint:sha-384 2D:7B:80:86:E5:A2:FB:4A:02:92:60:D4:9E:51:05:3E:F3:51:BE:2C:36:BE:30:D5:1D:E7:B0:B\
        E:60:F9:06:F2:09:3B:7C:4A:5F:8F:3B:86:A4:57:18:4A:5B:C4:D8:20
        a=fingerprint:sha-512 32:1D:39:92:A2:3F:27:CD:BB:84:2B:23:AE:4E:3D:2E:E5:2C:1E:83:10:AF:BD:9A:0C:E2:80:0\
        2:FF:49:9D:BC:AF:E2:B6:8A:AA:65:C1:8E:E6:14:D2:F4:2E:30:06:9D:9B:CA:DC:82:4E:6F:DD:0C:16:FF:C5:32:F1:EE:\
        69:A8
        a=setup:active
        m=audio 57518 UDP/TLS/RTP/SAVPF 111 9 0 8
        c=IN IP4 127.0.1.1
        a=recvonly
        a=extmap:14 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=mid:1
        a=msid:88eae77a-4b0a-4c05-8669-c974ed4798a4 00ed291c-3dfb-4072-8712-be46d087cc44
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:1804964628 cname:39e05ae4-9219-4ae0-b29e-032d57c56b56
        a=rtpmap:111 opus/48000/2
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=candidate:460512174798bdf4e13bf874ed3b2456 1 udp 2130706431 127.0.1.1 57518 typ host
        a=end-of-candidates
        a=ice-ufrag:lSmJ
        a=ice-pwd:jFwslbdBmrlm52f8bn6PrB
        a=fingerprint:sha-256 A7:C1:09:9D:5A:E3:8A:CC:DA:FB:B4:03:B0:2C:AA:76:48:06:31:5F:2E:27:D0:D9:8A:57:36:4\
        4:15:9E:C4:5D
        a=fingerprint:sha-384 2D:7B:80:86:E5:A2:FB:4A:02:92:60:D4:9E:51:05:3E:F3:51:BE:2C:36:BE:30:D5:1D:E7:B0:B\
        E:60:F9:06:F2:09:3B:7C:4A:5F:8F:3B:86:A4:57:18:4A:5B:C4:D8:20
        a=fingerprint:sha-512 32:1D:39:92:A2:3F:27:CD:BB:84:2B:23:AE:4E:3D:2E:E5:2C:1E:83:10:AF:BD:9A:0C:E2:80:0\
        2:FF:49:9D:BC:AF:E2:B6:8A:AA:65:C1:8E:E6:14:D2:F4:2E:30:06:9D:9B:CA:DC:82:4E:6F:DD:0C:16:FF:C5:32:F1:EE:\
        69:A8
        a=setup:active
        """

    static let chromiumPublisherOffer = """
        v=0
        o=- 6297583278380241789 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS 2a65722c-90cf-459e-b334-8e73dcb81081
        m=video 55265 UDP/TLS/RTP/SAVPF 96 97
        c=IN IP4 127.0.0.1
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:2403656460 1 udp 2122260223 127.0.0.1 55265 typ host generation 0 network-id 1 network-cost \
        50
        a=candidate:1750680987 1 udp 2122194687 127.0.1.1 43368 typ host generation 0 network-id 2
        a=candidate:1911437208 1 tcp 1518280447 127.0.0.1 9 typ host tcptype active generation 0 network-id 1 ne\
        twork-cost 50
        a=candidate:2532544783 1 tcp 1518214911 127.0.1.1 9 typ host tcptype active generation 0 network-id 2
        a=ice-ufrag:O2qB
        a=ice-pwd:gzDqo0D+wnXrhnEUCDz8aI6Z
        a=ice-options:trickle
        a=fingerprint:sha-256 98:CE:CC:07:12:D7:43:37:97:C3:B1:F0:D3:85:D4:E6:57:E8:24:22:67:45:82:C7:38:F4:FA:F\
        4:A0:4F:EB:6E
        a=setup:actpass
        a=mid:0
        a=extmap:1 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:3 urn:3gpp:video-orientation
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type
        a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/video-timing
        a=extmap:8 http://www.webrtc.org/experiments/rtp-hdrext/color-space
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
        a=sendonly
        a=msid:2a65722c-90cf-459e-b334-8e73dcb81081 3799e764-85ac-4af2-8171-d7613c67597b
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 transport-cc
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=ssrc-group:FID 3581312365 1083918172
        a=ssrc:3581312365 cname:eyeNqzxnUo0CJhJl
        a=ssrc:3581312365 msid:2a65722c-90cf-459e-b334-8e73dcb81081 3799e764-85ac-4af2-8171-d7613c67597b
        a=ssrc:1083918172 cname:eyeNqzxnUo0CJhJl
        a=ssrc:1083918172 msid:2a65722c-90cf-459e-b334-8e73dcb81081 3799e764-85ac-4af2-8171-d7613c67597b
        m=audio 45706 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
        c=IN IP4 127.0.0.1
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:2403656460 1 udp 2122260223 127.0.0.1 45706 typ host generation 0 network-id 1 network-cost \
        50
        a=candidate:1750680987 1 udp 2122194687 127.0.1.1 48605 typ host generation 0 network-id 2
        a=candidate:1911437208 1 tcp 1518280447 127.0.0.1 9 typ host tcptype active generation 0 network-id 1 ne\
        twork-cost 50
        a=candidate:2532544783 1 tcp 1518214911 127.0.1.1 9 typ host tcptype active generation 0 network-id 2
        a=ice-ufrag:O2qB
        a=ice-pwd:gzDqo0D+wnXrhnEUCDz8aI6Z
        a=ice-options:trickle
        a=fingerprint:sha-256 98:CE:CC:07:12:D7:43:37:97:C3:B1:F0:D3:85:D4:E6:57:E8:24:22:67:45:82:C7:38:F4:FA:F\
        4:A0:4F:EB:6E
        a=setup:actpass
        a=mid:1
        a=extmap:14 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=sendonly
        a=msid:2a65722c-90cf-459e-b334-8e73dcb81081 e4d9bc31-5af5-4d88-8f67-cb528ecd9c8b
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:63 red/48000/2
        a=fmtp:63 111/111
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:13 CN/8000
        a=rtpmap:110 telephone-event/48000
        a=rtpmap:126 telephone-event/8000
        a=ssrc:993744256 cname:eyeNqzxnUo0CJhJl
        a=ssrc:993744256 msid:2a65722c-90cf-459e-b334-8e73dcb81081 e4d9bc31-5af5-4d88-8f67-cb528ecd9c8b
        """
}
