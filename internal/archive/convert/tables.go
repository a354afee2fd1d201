package convert

// What glibc encodes otherwise, as [chars] reads it.
const (
	koi8U     = "40e: 45e: 255d:ae 256c:be"
	macintosh = "394:c6 2206: e01e:f0 f8ff:"
	cp10007   = "a2:a2 a4:ff 490: 20ac:"
	macUK     = "a4:ff 20ac:"
	cp1255    = "5ba: fb1d:e9c4 fb1f:d6c7 fb2a-fb2b:f9d1 fb2c:f9ccd1 fb2d:f9ccd2 fb2e-fb2f:e0c7 fb30:e0cc fb31:e1cc " +
		"fb32:e2cc fb33:e3cc fb34:e4cc fb35:e5cc fb36:e6cc fb38:e8cc fb39:e9cc fb3a:eacc fb3b:ebcc fb3c:eccc " +
		"fb3e:eecc fb40:f0cc fb41:f1cc fb43:f3cc fb44:f4cc fb46:f6cc fb47:f7cc fb48:f8cc fb49:f9cc fb4a:facc " +
		"fb4b:e5c9 fb4c:e1cf fb4d:ebcf fb4e:f4cf"
	cp1258 = "c3:41de cc:49cc d2:4fcc d5:4fde dd:59ec e3:61de ec:69cc f2:6fcc f5:6fde fd:79ec 106:43ec 107:63ec " +
		"128:49de 129:69de 139:4cec 13a:6cec 143:4eec 144:6eec 154:52ec 155:72ec 15a:53ec 15b:73ec 168:55de " +
		"169:75de 179:5aec 17a:7aec 1d7:dcec 1d8:fcec 1db:dccc 1dc:fccc 1f4:47ec 1f5:67ec 1f8:4ecc 1f9:6ecc " +
		"1fa:c5ec 1fb:e5ec 1fc:c6ec 1fd:e6ec 1fe:d8ec 1ff:f8ec 340:cc 341:ec 385:a8ec 1e04:42f2 1e05:62f2 " +
		"1e08:c7ec 1e09:e7ec 1e0c:44f2 1e0d:64f2 1e24:48f2 1e25:68f2 1e2e:cfec 1e2f:efec 1e30:4bec 1e31:6bec " +
		"1e32:4bf2 1e33:6bf2 1e36:4cf2 1e37:6cf2 1e3e:4dec 1e3f:6dec 1e42:4df2 1e43:6df2 1e46:4ef2 1e47:6ef2 " +
		"1e4c:d3de 1e4d:f3de 1e4e:d6de 1e4f:f6de 1e54:50ec 1e55:70ec 1e5a:52f2 1e5b:72f2 1e62:53f2 1e63:73f2 " +
		"1e6c:54f2 1e6d:74f2 1e78:dade 1e79:fade 1e7c:56de 1e7d:76de 1e7e:56f2 1e7f:76f2 1e80:57cc 1e81:77cc " +
		"1e82:57ec 1e83:77ec 1e88:57f2 1e89:77f2 1e92:5af2 1e93:7af2 1ea0:41f2 1ea1:61f2 1ea2:41d2 1ea3:61d2 " +
		"1ea4:c2ec 1ea5:e2ec 1ea6:c2cc 1ea7:e2cc 1ea8:c2d2 1ea9:e2d2 1eaa:c2de 1eab:e2de 1eac:c2f2 1ead:e2f2 " +
		"1eae:c3ec 1eaf:e3ec 1eb0:c3cc 1eb1:e3cc 1eb2:c3d2 1eb3:e3d2 1eb4:c3de 1eb5:e3de 1eb6:c3f2 1eb7:e3f2 " +
		"1eb8:45f2 1eb9:65f2 1eba:45d2 1ebb:65d2 1ebc:45de 1ebd:65de 1ebe:caec 1ebf:eaec 1ec0:cacc 1ec1:eacc " +
		"1ec2:cad2 1ec3:ead2 1ec4:cade 1ec5:eade 1ec6:caf2 1ec7:eaf2 1ec8:49d2 1ec9:69d2 1eca:49f2 1ecb:69f2 " +
		"1ecc:4ff2 1ecd:6ff2 1ece:4fd2 1ecf:6fd2 1ed0:d4ec 1ed1:f4ec 1ed2:d4cc 1ed3:f4cc 1ed4:d4d2 1ed5:f4d2 " +
		"1ed6:d4de 1ed7:f4de 1ed8:d4f2 1ed9:f4f2 1eda:d5ec 1edb:f5ec 1edc:d5cc 1edd:f5cc 1ede:d5d2 1edf:f5d2 " +
		"1ee0:d5de 1ee1:f5de 1ee2:d5f2 1ee3:f5f2 1ee4:55f2 1ee5:75f2 1ee6:55d2 1ee7:75d2 1ee8:ddec 1ee9:fdec " +
		"1eea:ddcc 1eeb:fdcc 1eec:ddd2 1eed:fdd2 1eee:ddde 1eef:fdde 1ef0:ddf2 1ef1:fdf2 1ef2:59cc 1ef3:79cc " +
		"1ef4:59f2 1ef5:79f2 1ef6:59d2 1ef7:79d2 1ef8:59de 1ef9:79de 1fed:a8cc 1fee:a8ec"
	tis620    = "a0: 2013-2014: 2018-2019: 201c-201d: 2022: 2026: 20ac:"
	iso885911 = "2013-2014: 2018-2019: 201c-201d: 2022: 2026: 20ac:"
	ibm1140   = "203e:bc"
	sjis      = "2225: ff0d: ff5e: a2-a3:8191 a5:5c ac:81ca 2016:8161 203e:7e 2212:817c 301c:8160"
	eucKR     = "20a9:a3dc 327e:a2e8"
	eucCN     = "144: 148: 1f9: 251: 261: 2170-2179: fe31: fe33-fe44: 30fb:a1a4 2015:a1aa b7: 2014:"
	big5Chars = "ffed: 80:80 2550:a2a4 255e:a2a5 2561:a2a7 256a:a2a6 256d:a27e 256e:a2a1 256f:a2a3 2570:a2a2 2593:f9fe " +
		"3003:a1b2 5029:adc5 507d:b0b0 5305:a55d 5344:a2cd 537f:adeb 5a77:b440 5e75:c9db 5f58:d8f4 6490:bcb5 " +
		"6674:b4b8 675e:a7fb 6c9c:cb58 6e1d:b4fc 6e2f:b4e4 716e:b54e 745c:b7ec 74e9:a260 7809:cff1"
	gb18030Chars = "1e3f:a8bc 9fb4:fe59 9fb5:fe61 9fb6-9fb7:fe66 9fb8:fe6d 9fb9:fe7e 9fba:fe90 9fbb:fea0 e766-e76b:a2ab " +
		"e76d:a2e4 e76e-e76f:a2ef e770-e771:a2fd e772-e77c:a4f4 e77d-e784:a5f7 e785-e78c:a6b9 e78d-e796: " +
		"e797-e79f:a6f6 e7a0-e7ae:a7c2 e7af-e7bb:a7f2 e7bc-e7c6:a896 e7c7:8135f437 e7c9-e7cc:a8c1 " +
		"e7cd-e7e1:a8ea e7e2:a958 e7e3:a95b e7e4-e7e6:a95d e7f4-e800:a997 e801-e80f:a9f0 e810-e814:d7fa " +
		"e816-e818: e81e: e826: e82b-e82c: e831-e832: e83b: e843: e854-e855: e864: fe10:a6d9 fe11:a6db " +
		"fe12:a6da fe13-fe16:a6dc fe17-fe18:a6ec fe19:a6f3 20087:fe51 20089:fe52 200cc:fe53 215d7:fe6c " +
		"2298f:fe76 241fe:fe91"
	cp932Chars = "a2-a3:8191 a5:5c ac:81ca 2014:815c 2016:8161 203e:7e 2212:817c 301c:8160"
	eucJPChars = "2225: ff0d: ffe0-ffe2: 8e: 8f: a2-a3:a1f1 a5:5c ac:a2cc 2016:a1c2 203e:7e 2212:a1dd 301c:a1c1"
)
